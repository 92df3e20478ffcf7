"""The gate's hooks in the text of a settings file that others use too: found, put in, taken out. Pure.

Only entries that are ours are ever changed, and what was put in only to hold them goes with them. Two forms are known:
hooks in groups, as Claude Code has them, and hooks without groups, as Cursor has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from gate.clients import GROUPED
from gate.wiring import jsonedit
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Plan
from gate.wiring.clients import Client
from gate.wiring.jsontree import Dialect, JsonError, Node, parse
from gate.wiring.own_commands import boundary_of, mentions_gate

FILE = ""
"""In what was made: the file itself. The other places are `hooks`, `hooks.<event>` and `version`."""

VERSION = "version"
"""What a file without groups has to begin with (cursor.com/docs/agent/hooks): `"version": 1`."""

_BLANK = "\ufeff \t\r\n"


class Entry(NamedTuple):
    """One hook of ours: where it stands (`at`: the places in the lists that lead to it) and what it says."""

    event: str
    at: tuple[int, ...]
    boundary: str
    command: str
    timeout: object
    matcher: object

    def calls(self, event: str, boundary: str) -> bool:
        """Whether it is the entry for this event: others of ours do nothing there."""
        return (self.event, self.boundary) == (event, boundary)


class _Hook(NamedTuple):
    event: str
    at: tuple[int, ...]
    node: Node
    matcher: object


def entries(client: Client, root: Node) -> list[Entry]:
    """Every hook of ours, in the order of the file."""
    found = []
    for hook in _all_hooks(client, root):
        arguments = hook.node.value.get("args")
        words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else None
        command = _text(hook.node, "command")
        boundary = boundary_of(command, client.NAME, words)
        if boundary:
            shown = " ".join([command, *(words or ())])
            found.append(Entry(hook.event, hook.at, boundary, shown, hook.node.value.get("timeout"), hook.matcher))
    return found


def strangers(client: Client, root: Node) -> list[str]:
    """The commands of hooks which are not ours and seem to call the gate all the same."""
    ours = {(entry.event, entry.at) for entry in entries(client, root)}
    commands = [_text(hook.node, "command") for hook in _all_hooks(client, root) if (hook.event, hook.at) not in ours]
    return [command for command in commands if mentions_gate(command)]


def read(client: Client, text: str) -> Node:
    """The tree of a settings file. Raises JsonError where the client could not read it, or its hooks have a shape
    unknown to us.
    """
    root = parse(text, dialect_of(client))
    if not isinstance(root.value, dict):
        raise JsonError("an object is expected here", text, root.start)
    hooks = _only(text, root, "hooks", dict)
    if hooks is None:
        return root
    events = [event for event, _, _ in client.HOOKS]
    for event in hooks.value:
        listed = _only(text, hooks, event, list if event in events else object, "hooks.")
        for item in listed.items() if listed is not None and event in events else ():
            if client.FORM == GROUPED:
                _read_group(text, item, f"hooks.{event}")
            else:
                _read_hook(text, item, f"hooks.{event}")
    return root


def dialect_of(client: Client) -> Dialect:
    """What a client's parser takes."""
    return Dialect(client.COMMENTS, client.TRAILING_COMMAS)


def is_blank(text: str) -> bool:
    """Whether a file holds nothing."""
    return not text.strip(_BLANK)


def _read_group(text: str, group: Node, where: str) -> None:
    _expect(text, group, where, dict)
    inner = _only(text, group, "hooks", list, f"{where}: ")
    if inner is None:
        raise JsonError(f'{where}: a group without "hooks"', text, group.start)
    for hook in inner.items():
        _read_hook(text, hook, where)


def _read_hook(text: str, hook: Node, where: str) -> None:
    _expect(text, hook, where, dict)
    for key in hook.value:
        _only(text, hook, key, object, f"{where}: ")


def install(client: Client, text: str, lines: Mapping[str, str], made: Collection[str] = ()) -> Plan:
    """Put our entries in: `lines` has the command of each event. `made` is what an earlier installation made here.

    An entry of ours in another form is made to say this; more than one of an event, or one where it does nothing, goes.
    Raises JsonError.
    """
    wanted = {event: _hook_saying(client, lines[event], seconds) for event, _, seconds in client.HOOKS}
    if is_blank(text):
        document: dict[str, Any] = {} if client.FORM == GROUPED else {VERSION: 1}
        document["hooks"] = {event: [_listed(client, hook)] for event, hook in wanted.items()}
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        places = [*list(document), *(f"hooks.{event}" for event in wanted)]
        return Plan(bom + jsonedit.new_document(document), dict.fromkeys(wanted, ADDED), tuple(places))
    done: dict[str, str] = {}
    root = read(client, text)
    places = [place for place in made if place == FILE or _at(root, *place.split(".")) is not None]
    if client.FORM != GROUPED:
        text, new = _with_version(text, root)
        places += new
    for event, boundary, _ in client.HOOKS:
        text, done[event], new = _put(client, text, event, boundary, wanted[event])
        places += new
    text, elsewhere = _take_out(client, text, keep=tuple((event, boundary) for event, boundary, _ in client.HOOKS))
    return Plan(text, done | dict.fromkeys(elsewhere, REMOVED), tuple(places))


def uninstall(client: Client, text: str, made: Collection[str] | None) -> Plan:
    """Take our entries out, and the containers in `made` that are empty then; where it is not known who made them
    (None), those that are emptied by it. Raises JsonError.
    """
    done = dict.fromkeys([event for event, _, _ in client.HOOKS], NOTHING)
    if is_blank(text):
        return Plan(text, done)
    text, taken = _take_out(client, text)
    for keys in (*(("hooks", event) for event in taken), ("hooks",)):
        root = read(client, text)
        container, node = _at(root, *keys[:-1]), _at(root, *keys)
        ours = made is None or ".".join(keys) in made
        if ours and container is not None and node is not None and not node.children:
            text = jsonedit.remove(text, container, _index(container, keys[-1]))
    root = read(client, text)
    # As long as hooks are left, they need it.
    if VERSION in (made or ()) and root.get("hooks") is None and root.get(VERSION) is not None:
        text = jsonedit.remove(text, root, _index(root, VERSION))
    gone = bool(taken) and FILE in (made or ()) and _holds_nothing(client, text)
    return Plan(None if gone else text, done | dict.fromkeys(taken, REMOVED))


def _holds_nothing(client: Client, text: str) -> bool:
    root = read(client, text)
    return not root.children and not text[root.start + 1 : root.end - 1].strip()


def _hook_saying(client: Client, command: str, seconds: int) -> dict[str, Any]:
    typed = {"type": "command"} if client.FORM == GROUPED else {}
    return {**typed, "command": command, "timeout": seconds * client.UNIT}


def _listed(client: Client, hook: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": [hook]} if client.FORM == GROUPED else hook


def _with_version(text: str, root: Node) -> tuple[str, list[str]]:
    version = _only(text, root, VERSION, object)
    if version is None:
        return jsonedit.add_member(text, root, root, VERSION, 1), [VERSION]
    if version.value != 1:
        raise JsonError(f"{VERSION}: 1 is expected here", text, version.start)
    return text, []


def _put(client: Client, text: str, event: str, boundary: str, wanted: dict[str, Any]) -> tuple[str, str, list[str]]:
    root = read(client, text)
    mine = [entry for entry in entries(client, root) if entry.event == event]
    if mine:
        kept = next((entry for entry in mine if entry.boundary == boundary), mine[0])
        before = text
        text = _say(client, text, kept, wanted)
        for entry in reversed(mine):
            if entry != kept:
                text = _without(client, text, entry)
        return text, ALREADY if text == before else UPDATED, []
    item = _listed(client, wanted)
    hooks, listed = _at(root, "hooks"), _at(root, "hooks", event)
    if hooks is None:
        text = jsonedit.add_member(text, root, root, "hooks", {event: [item]})
        return text, ADDED, ["hooks", f"hooks.{event}"]
    if listed is None:
        return jsonedit.add_member(text, root, hooks, event, [item]), ADDED, [f"hooks.{event}"]
    return jsonedit.add_item(text, root, listed, item), ADDED, []


def _say(client: Client, text: str, entry: Entry, wanted: Mapping[str, Any]) -> str:
    """Make an entry of ours say just what is wanted, member by member, so that its layout stays."""
    for key in (*wanted, *_hook(read(client, text), entry).value):
        root = read(client, text)
        hook = _hook(root, entry)
        node = hook.get(key)
        if key not in wanted:
            text = jsonedit.remove(text, hook, _index(hook, key))
        elif node is None:
            text = jsonedit.add_member(text, root, hook, key, wanted[key])
        elif node.value != wanted[key]:
            text = jsonedit.replace(text, node, wanted[key])
    return text


def _take_out(client: Client, text: str, keep: Collection[tuple[str, str]] = ()) -> tuple[str, list[str]]:
    """Take our entries out but those for the events and boundaries in `keep`; the events that had one, in order."""
    taken: list[str] = []
    for entry in reversed(entries(client, read(client, text))):
        if (entry.event, entry.boundary) not in keep:
            text = _without(client, text, entry)
            taken.insert(0, entry.event)
    return text, list(dict.fromkeys(taken))


def _without(client: Client, text: str, entry: Entry) -> str:
    """The text without one entry; a group that held nothing else goes with it."""
    holders = _holders(read(client, text), entry)
    while len(holders) > 1 and len(holders[-1].children) == 1:
        holders.pop()
    return jsonedit.remove(text, holders[-1], entry.at[len(holders) - 1])


def _hook(root: Node, entry: Entry) -> Node:
    return _holders(root, entry)[-1].items()[entry.at[-1]]


def _holders(root: Node, entry: Entry) -> list[Node]:
    """The lists of this tree that an entry stands in, the outermost first."""
    listed = _at(root, "hooks", entry.event)
    holders = [listed]
    for place in entry.at[:-1]:
        listed = listed.items()[place].get("hooks") if listed is not None else None
        holders.append(listed)
    found = [holder for holder in holders if holder is not None]
    if len(found) < len(holders):
        raise LookupError(entry.event)
    return found


def _all_hooks(client: Client, root: Node) -> Iterator[_Hook]:
    """Each hook with its event, its place and its group's matcher. What has another shape (a newer client's) holds
    none.
    """
    hooks = _at(root, "hooks")
    for event in hooks.children if hooks is not None else ():
        for number, item in enumerate(event.node.items() if isinstance(event.node.value, list) else ()):
            if not isinstance(item.value, dict):
                continue
            matcher = item.value.get("matcher")
            if client.FORM != GROUPED:
                yield _Hook(event.key or "", (number,), item, matcher)
                continue
            inner = item.get("hooks")
            for index, hook in enumerate(inner.items() if inner is not None and isinstance(inner.value, list) else ()):
                if isinstance(hook.value, dict):
                    yield _Hook(event.key or "", (number, index), hook, matcher)


def _at(root: Node, *keys: str) -> Node | None:
    node: Node | None = root
    for key in keys:
        node = node.get(key) if node is not None else None
    return node


def _index(container: Node, key: str) -> int:
    return [child.key for child in container.children].index(key)


def _only(text: str, container: Node, key: str, kind: type, where: str = "") -> Node | None:
    """The only member of this name, of this kind; None where there is none."""
    found = container.members(key)
    if len(found) > 1:
        raise JsonError(f"{where}{key} stands there twice", text, found[1].start)
    if found:
        _expect(text, found[0], where + key, kind)
    return found[0] if found else None


def _expect(text: str, node: Node, name: str, kind: type) -> None:
    if not isinstance(node.value, kind):
        raise JsonError(f"{name}: {'a list' if kind is list else 'an object'} is expected here", text, node.start)


def _text(hook: Node, key: str) -> str:
    found = hook.value.get(key)
    return found if isinstance(found, str) else ""
