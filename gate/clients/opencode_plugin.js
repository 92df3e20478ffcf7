// @TITLE@
// A session begins with its first message, and ends when OpenCode does. Seen with OpenCode 1.18.33.
import { spawn, spawnSync } from "node:child_process"

const START = @START@
const END = @END@
const SHELL = "/bin/sh"
const PATIENCE = 10_000 // milliseconds

export const SessionGate = async ({ client, directory }) => {
  const loaded = Date.now()
  const roots = new Map() // of each session the one that it works for: itself, or whose subagent it is
  const begun = new Map() // of each session that has begun a promise, fulfilled when its start was answered

  const environment = () => ({ ...process.env, OPENCODE_PID: String(process.pid) })
  const payload = (session, event, more) =>
    JSON.stringify({ hook_event_name: event, session_id: session, cwd: directory, ...more })

  const ask = (session, source) =>
    new Promise((resolve) => {
      let said = ""
      const options = { cwd: directory, env: environment(), stdio: ["pipe", "pipe", "ignore"], timeout: PATIENCE }
      const command = spawn(SHELL, ["-c", START], options)
      command.on("error", () => resolve(""))
      command.on("close", () => resolve(said))
      command.stdout.on("data", (data) => (said += data))
      command.stdin.on("error", () => {})
      command.stdin.end(payload(session, "SessionStart", { source }))
    })

  const look = async (session) => {
    const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
    return found?.data
  }

  const root = async (session) => {
    if (!roots.has(session)) {
      const parent = (await look(session))?.parentID
      roots.set(session, parent ? await root(parent) : session)
    }
    return roots.get(session)
  }

  const answer = async (session) => {
    const created = (await look(session))?.time?.created
    const said = await ask(session, created >= loaded ? "startup" : "resume")
    if (!said.trim()) return undefined
    const { additionalContext, systemMessage } = JSON.parse(said)
    client.tui.showToast({ body: { message: systemMessage, variant: "warning" } }).catch(() => {})
    return additionalContext
  }

  return {
    event: async ({ event }) => {
      if (event.type !== "session.created") return
      const { id, parentID } = event.properties.info
      roots.set(id, parentID ? (roots.get(parentID) ?? parentID) : id)
    },

    "chat.message": async ({ sessionID }, { message, parts }) => {
      try {
        if ((await root(sessionID)) !== sessionID || begun.has(sessionID)) return
        const answered = answer(sessionID)
        begun.set(sessionID, answered.catch(() => {}))
        const text = await answered
        if (!text || !parts.length) return
        // A part of the person's own message: it stays where it is, and what the client caches stays the same.
        const id = `${parts[parts.length - 1].id}g`
        parts.push({ id, sessionID, messageID: message.id, type: "text", synthetic: true, text })
      } catch {
        // Whatever it is, the session goes on.
      }
    },

    "shell.env": async ({ sessionID }, output) => {
      if (sessionID) output.env.SESSION_GATE_SESSION = await root(sessionID).catch(() => sessionID)
    },

    dispose: async () => {
      await Promise.all(begun.values())
      for (const session of begun.keys()) {
        const input = payload(session, "SessionEnd", { reason: "other" })
        const stdio = ["pipe", "ignore", "ignore"]
        spawnSync(SHELL, ["-c", END], { cwd: directory, env: environment(), input, stdio, timeout: PATIENCE })
      }
      begun.clear()
    },
  }
}
