"""The gate's hooks in the text of a Claude Code settings file: found, put in, taken out. Pure.

Only entries that are ours are ever changed, and what was put in only to hold them goes with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from gate.clients.claude import HOOKS, NAME
from gate.wiring import jsonedit
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED
from gate.wiring.jsontree import JsonError, Node, parse
from gate.wiring.own_commands import boundary_of, mentions_gate

FILE = ""
"""In what was made: the file itself. The other places are `hooks` and `hooks.<event>`."""

_BLANK = "\ufeff \t\r\n"
_EVENTS = tuple(event for event, _, _ in HOOKS)


class Entry(NamedTuple):
    """One hook of ours: where it stands and what it says."""

    event: str
    group: int
    hook: int
    boundary: str
    command: str
    timeout: object
    matcher: object

    def calls(self, event: str, boundary: str) -> bool:
        """Whether it is the entry for this event: others of ours do nothing there."""
        return (self.event, self.boundary) == (event, boundary)


class Plan(NamedTuple):
    """What a text is to become: `text` is None where the file has to go. `done` has what became of each event's
    entry, `made` the containers that stand there only for our entries.
    """

    text: str | None
    done: Mapping[str, str]
    made: tuple[str, ...] = ()


def entries(root: Node) -> list[Entry]:
    """Every hook of ours, in the order of the file."""
    found = []
    for event, number, group, index, hook in _all_hooks(root):
        arguments = hook.value.get("args")
        words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else None
        command = _text(hook, "command")
        boundary = boundary_of(command, NAME, words)
        if boundary:
            shown = " ".join([command, *(words or ())])
            matcher = group.value.get("matcher")
            found.append(Entry(event, number, index, boundary, shown, hook.value.get("timeout"), matcher))
    return found


def strangers(root: Node) -> list[str]:
    """The commands of hooks which are not ours and seem to call the gate all the same."""
    ours = {(entry.event, entry.group, entry.hook) for entry in entries(root)}
    return [
        _text(hook, "command")
        for event, number, _, index, hook in _all_hooks(root)
        if (event, number, index) not in ours and mentions_gate(_text(hook, "command"))
    ]


def read(text: str) -> Node:
    """The tree of a settings file. Raises JsonError where it is no JSON, or its hooks have a shape unknown to us."""
    root = parse(text)
    if not isinstance(root.value, dict):
        raise JsonError("an object is expected here", text, root.start)
    hooks = _only(text, root, "hooks", dict)
    if hooks is None:
        return root
    for event in hooks.value:
        groups = _only(text, hooks, event, list if event in _EVENTS else object, "hooks.")
        for group in groups.items() if groups is not None and event in _EVENTS else ():
            _read_group(text, group, f"hooks.{event}")
    return root


def _read_group(text: str, group: Node, where: str) -> None:
    _expect(text, group, where, dict)
    inner = _only(text, group, "hooks", list, f"{where}: ")
    if inner is None:
        raise JsonError(f'{where}: a group without "hooks"', text, group.start)
    for hook in inner.items():
        _expect(text, hook, where, dict)
        for key in hook.value:
            _only(text, hook, key, object, f"{where}: ")


def install(text: str, lines: Mapping[str, str], made: Collection[str] = ()) -> Plan:
    """Put our entries in: `lines` has the command of each event. `made` is what an earlier installation made here.

    An entry of ours in another form is made to say this; more than one of an event, or one where it does nothing, goes.
    Raises JsonError.
    """
    wanted = {event: {"type": "command", "command": lines[event], "timeout": seconds} for event, _, seconds in HOOKS}
    if not text.strip(_BLANK):
        document = {"hooks": {event: [{"hooks": [hook]}] for event, hook in wanted.items()}}
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        places = ["hooks", *(f"hooks.{event}" for event in _EVENTS)]
        return Plan(bom + jsonedit.new_document(document), dict.fromkeys(_EVENTS, ADDED), tuple(places))
    done: dict[str, str] = {}
    root = read(text)
    places = [place for place in made if place == FILE or _at(root, *place.split(".")) is not None]
    for event, boundary, _ in HOOKS:
        text, done[event], new = _put(text, event, boundary, wanted[event])
        places += new
    text, elsewhere = _take_out(text, keep=tuple((event, boundary) for event, boundary, _ in HOOKS))
    return Plan(text, done | dict.fromkeys(elsewhere, REMOVED), tuple(places))


def uninstall(text: str, made: Collection[str] | None) -> Plan:
    """Take our entries out, and the containers in `made` that are empty then; where it is not known who made them
    (None), those that are emptied by it. Raises JsonError.
    """
    if not text.strip(_BLANK):
        return Plan(text, dict.fromkeys(_EVENTS, NOTHING))
    text, taken = _take_out(text)
    done = dict.fromkeys(_EVENTS, NOTHING) | dict.fromkeys(taken, REMOVED)
    for keys in (*(("hooks", event) for event in taken), ("hooks",)):
        root = read(text)
        container, node = _at(root, *keys[:-1]), _at(root, *keys)
        ours = made is None or ".".join(keys) in made
        if ours and container is not None and node is not None and not node.children:
            text = jsonedit.remove(text, container, _index(container, keys[-1]))
    gone = bool(taken) and FILE in (made or ()) and not read(text).children
    return Plan(None if gone else text, done)


def _put(text: str, event: str, boundary: str, wanted: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    root = read(text)
    mine = [entry for entry in entries(root) if entry.event == event]
    if mine:
        kept = next((entry for entry in mine if entry.boundary == boundary), mine[0])
        before = text
        text = _say(text, kept, wanted)
        for entry in reversed(mine):
            if entry != kept:
                text = _without(text, entry)
        return text, ALREADY if text == before else UPDATED, []
    group = {"hooks": [wanted]}
    hooks, groups = _at(root, "hooks"), _at(root, "hooks", event)
    if hooks is None:
        text = jsonedit.add_member(text, root, root, "hooks", {event: [group]})
        return text, ADDED, ["hooks", f"hooks.{event}"]
    if groups is None:
        return jsonedit.add_member(text, root, hooks, event, [group]), ADDED, [f"hooks.{event}"]
    return jsonedit.add_item(text, root, groups, group), ADDED, []


def _say(text: str, entry: Entry, wanted: Mapping[str, Any]) -> str:
    """Make an entry of ours say just what is wanted, member by member, so that its layout stays."""
    for key in (*wanted, *_hook(read(text), entry).value):
        root = read(text)
        hook = _hook(root, entry)
        node = hook.get(key)
        if key not in wanted:
            text = jsonedit.remove(text, hook, _index(hook, key))
        elif node is None:
            text = jsonedit.add_member(text, root, hook, key, wanted[key])
        elif node.value != wanted[key]:
            text = jsonedit.replace(text, node, wanted[key])
    return text


def _take_out(text: str, keep: Collection[tuple[str, str]] = ()) -> tuple[str, list[str]]:
    """Take our entries out but those for the events and boundaries in `keep`; the events that had one, in order."""
    taken: list[str] = []
    for entry in reversed(entries(read(text))):
        if (entry.event, entry.boundary) not in keep:
            text = _without(text, entry)
            taken.insert(0, entry.event)
    return text, list(dict.fromkeys(taken))


def _without(text: str, entry: Entry) -> str:
    """The text without one entry; a group that held nothing else goes with it."""
    groups, hooks = _holders(read(text), entry)
    if len(hooks.children) == 1:
        return jsonedit.remove(text, groups, entry.group)
    return jsonedit.remove(text, hooks, entry.hook)


def _hook(root: Node, entry: Entry) -> Node:
    return _holders(root, entry)[1].items()[entry.hook]


def _holders(root: Node, entry: Entry) -> tuple[Node, Node]:
    """The list of groups, and in it the list of hooks, that an entry of this tree stands in."""
    groups = _at(root, "hooks", entry.event)
    hooks = groups.items()[entry.group].get("hooks") if groups is not None else None
    if groups is None or hooks is None:
        raise LookupError(entry.event)
    return groups, hooks


def _all_hooks(root: Node) -> Iterator[tuple[str, int, Node, int, Node]]:
    """Each hook with its event, its group and their places. What has another shape (a newer client's) holds none."""
    hooks = _at(root, "hooks")
    for event in hooks.children if hooks is not None else ():
        for number, group in enumerate(event.node.items() if isinstance(event.node.value, list) else ()):
            inner = group.get("hooks")
            for index, hook in enumerate(inner.items() if inner is not None and isinstance(inner.value, list) else ()):
                if isinstance(hook.value, dict):
                    yield event.key or "", number, group, index, hook


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
