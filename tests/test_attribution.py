from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.attribution import Baseline, Evidence, Living, attribute, key_of, kind_of
from gate.finding import Finding, Subject
from gate.ledger import safe_id
from gate.quote import say

HERE, OTHER_TREE = "/project", "/project/.worktrees/one"
BEFORE, WRITTEN, AFTER = 100.0, 200.0, 300.0


def path(
    name: str = "a.py",
    changed: float | None = BEFORE,
    worktree: str | None = HERE,
    tag: str | None = None,
    within: tuple[str, ...] = (),
) -> Subject:
    return Subject(key=name, name=name, changed=changed, worktree=worktree, tag=tag, within=within)


def base(*subjects: Subject) -> dict[str, str]:
    return {key_of(subject): subject.fingerprint for subject in subjects}


def taken(*subjects: Subject) -> Baseline:
    return Baseline(base(*subjects), WRITTEN)


NONE_TAKEN = Baseline(None, WRITTEN)
NOTHING_KNOWN = Baseline()


OTHER = Living("other", WRITTEN, HERE)
SHELL = OTHER._replace(shell=True)
ODD = Living(safe_id("an odd/id"), WRITTEN, HERE)
BOTH = frozenset({HERE, OTHER_TREE})


@pytest.mark.parametrize(
    ("subject", "evidence", "kind"),
    [
        # no baseline: debt, as the incident's rule says
        (path(), Evidence(), "debt"),
        (path(), Evidence(baselines=[NOTHING_KNOWN]), "debt"),
        # it was there before, unchanged
        (path(), Evidence(baselines=[taken(path())]), "note"),
        (path(), Evidence(notes=base(path())), "note"),
        # an edit to a file that was dirty before
        (path(changed=AFTER), Evidence(baselines=[taken(path())]), "debt"),
        (path(changed=AFTER), Evidence(notes=base(path())), "debt"),
        # before one of two sessions that ended, but not before the other
        (path(), Evidence(baselines=[taken(path()), taken()]), "debt"),
        (path(), Evidence(baselines=[taken(path()), NOTHING_KNOWN]), "debt"),
        # where no baseline was taken, the time of a change tells of what people keep
        (path(changed=150.0), Evidence(baselines=[NONE_TAKEN], looked=BEFORE), "note"),
        (path(changed=AFTER), Evidence(baselines=[NONE_TAKEN], looked=BEFORE), "debt"),
        (path(changed=150.0), Evidence(baselines=[NONE_TAKEN], looked=BEFORE, keeps=False), "debt"),
        (path(changed=None), Evidence(baselines=[NONE_TAKEN], looked=BEFORE), "debt"),
        # what is older than a look that did not show it has been brought out since, or has ripened
        (path(changed=50.0), Evidence(baselines=[NONE_TAKEN], looked=BEFORE), "debt"),
        (path(changed=150.0), Evidence(baselines=[NONE_TAKEN], looked=None), "debt"),
        # a file of a directory that was there as a whole, one of whose other files was committed
        (path("a/b/c", within=("a/",)), Evidence(baselines=[taken(path("a/"))]), "note"),
        (path("a/b/c", AFTER, within=("a/",)), Evidence(baselines=[taken(path("a/"))]), "debt"),
        (path("a/b/c", within=("a/",)), Evidence(notes=base(path("a/")), looked=WRITTEN), "note"),
        (path("a/b/c", AFTER, within=("a/",)), Evidence(notes=base(path("a/")), looked=WRITTEN), "debt"),
        # debt in the marker comes first: no later baseline launders it, no living session hides it
        (path(), Evidence(debts=frozenset(base(path())), baselines=[taken(path())]), "debt"),
        (path(changed=AFTER), Evidence(debts=frozenset(base(path())), living=[OTHER]), "debt"),
        (path(), Evidence(debts=frozenset(base(path())), first=True), "debt"),
        # another living session is at work in that worktree
        (path(changed=AFTER), Evidence(living=[OTHER]), "deferred"),
        (path(changed=BEFORE), Evidence(living=[OTHER]), "debt"),
        (path(changed=None), Evidence(living=[OTHER]), "debt"),
        (path(changed=AFTER, worktree=OTHER_TREE), Evidence(living=[OTHER], worktrees=BOTH), "debt"),
        (path(changed=AFTER, worktree=None), Evidence(living=[Living("other", WRITTEN, "")]), "debt"),
        # a process says whose it is
        (path(tag="other", worktree=None), Evidence(living=[OTHER]), "deferred"),
        (path(tag="an odd/id", worktree=None), Evidence(living=[ODD]), "deferred"),
        (path(tag="dead", changed=AFTER), Evidence(living=[OTHER]), "debt"),
        # beside a plain shell, which is open for days, a session that ended answers for what came during it
        (path(changed=AFTER), Evidence(living=[SHELL]), "deferred"),
        (path(changed=AFTER), Evidence(living=[SHELL], baselines=[taken()], ended=True), "debt"),
        (path(changed=AFTER), Evidence(living=[SHELL, OTHER], baselines=[taken()], ended=True), "deferred"),
        (
            path(changed=AFTER),
            Evidence(living=[SHELL], baselines=[taken()._replace(shell=True)], ended=True),
            "deferred",
        ),
        # a first look charges nobody with what people keep
        (path(), Evidence(first=True), "note"),
        # in a worktree where nobody's record stands, a living session's helpers work
        (path(changed=AFTER, worktree=OTHER_TREE), Evidence(living=[OTHER]), "deferred"),
        (path(changed=BEFORE, worktree=OTHER_TREE), Evidence(living=[OTHER]), "debt"),
        # nobody but a person can have worked then
        (path(changed=WRITTEN), Evidence(quiet=(BEFORE, WRITTEN)), "note"),
        (path(changed=AFTER), Evidence(quiet=(BEFORE, WRITTEN)), "debt"),
        (path(changed=BEFORE), Evidence(quiet=(BEFORE, WRITTEN)), "debt"),
        (path(changed=None), Evidence(quiet=(BEFORE, WRITTEN)), "debt"),
        (path(changed=WRITTEN), Evidence(quiet=(BEFORE, WRITTEN), debts=frozenset(base(path()))), "debt"),
    ],
)
def test_whose_a_subject_is(subject: Subject, evidence: Evidence, kind: str) -> None:
    assert kind_of(subject, evidence) == kind


def test_a_finding_is_divided_by_whose_its_subjects_are() -> None:
    mine, theirs, kept = path("mine", AFTER, OTHER_TREE), path("theirs", AFTER), path("kept")
    finding = Finding(key="all", summary=lambda chosen: say("{}", chosen.names), subjects=[mine, theirs, kept])
    parts = attribute(finding, Evidence(living=[OTHER], baselines=[taken(kept)], worktrees=BOTH))
    assert [(part.kind, [s.name for s in part.subjects], part.before) for part in parts] == [
        ("debt", ["mine"], 1),
        ("deferred", ["theirs"], 0),
        ("note", ["kept"], 0),
    ]


def test_what_is_tolerated_is_counted_after_attribution() -> None:
    streams = [path(str(number), tag="other" if number < 2 else None, worktree=None) for number in range(4)]
    finding = Finding(key="all", summary=say(""), subjects=streams, tolerated=2)
    assert [part.kind for part in attribute(finding, Evidence())] == ["debt"]
    assert attribute(finding, Evidence(living=[OTHER])) == []


def test_what_belongs_to_another_project_is_a_note_that_says_so_and_nothing_is_tolerated_twice() -> None:
    streams = [path(str(number), worktree=None) for number in range(4)]
    finding = Finding(key="all", summary=say(""), subjects=streams, tolerated=2)
    owners = {"0": "/one", "1": "/one"}
    (others,) = attribute(finding, Evidence(owner=lambda s: (owners.get(s.key, ""), False)))
    assert (others.kind, others.owner, [s.key for s in others.subjects]) == ("note", "/one", ["0", "1"])
    (debt,) = attribute(finding, Evidence(owner=lambda _: ("/one", False), debts=frozenset(base(*streams))))
    assert (debt.kind, debt.owner) == ("debt", ""), "a debt stays where it was charged"


@pytest.mark.parametrize("kind", ["unknown", "note"])
def test_a_finding_that_its_check_calls_unknown_or_a_note_stays_so(kind: str) -> None:
    finding = Finding(key="x", summary=say(""), subjects=[path()], kind=kind)
    assert [part.kind for part in attribute(finding, Evidence(first=True))] == [kind]


subjects = st.builds(
    path,
    name=st.sampled_from("abcd"),
    changed=st.sampled_from([None, BEFORE, WRITTEN, AFTER]),
    worktree=st.sampled_from([None, HERE, OTHER_TREE]),
    tag=st.sampled_from([None, "other", "dead"]),
)
bases = st.lists(subjects, max_size=4).map(lambda some: base(*some))
evidences = st.builds(
    lambda **known: Evidence(**known),
    debts=st.frozensets(subjects.map(key_of)),
    notes=bases,
    baselines=st.lists(st.one_of(st.just(NOTHING_KNOWN), st.builds(Baseline, bases, st.just(WRITTEN))), max_size=3),
    living=st.lists(st.just(OTHER), max_size=1),
)


@given(subjects, evidences)
def test_debt_in_the_marker_is_never_lost(subject: Subject, evidence: Evidence) -> None:
    if key_of(subject) in evidence.debts:
        assert kind_of(subject, evidence) == "debt"


@given(subjects, evidences)
def test_only_evidence_about_just_this_state_makes_a_note(subject: Subject, evidence: Evidence) -> None:
    if kind_of(subject, evidence) == "note":
        known = [evidence.notes, *[b.states for b in evidence.baselines if b.states is not None]]
        assert any(one.get(key_of(subject)) == subject.fingerprint for one in known)


@given(st.lists(subjects, min_size=1, max_size=8, unique_by=lambda s: s.key), evidences)
def test_no_subject_is_dropped_or_counted_twice(some: list[Subject], evidence: Evidence) -> None:
    finding = Finding(key="x", summary=say(""), subjects=some)
    parts = attribute(finding, evidence)
    assert sorted(s.key for part in parts for s in part.subjects) == sorted(s.key for s in some)


@given(subjects, evidences)
def test_without_a_living_session_nothing_is_deferred(subject: Subject, evidence: Evidence) -> None:
    if not evidence.living:
        assert kind_of(subject, evidence) in ("debt", "note")


def test_another_projects_debt_does_not_claim_what_came_during_a_session_that_ended_here() -> None:
    stream = path(worktree=None)
    finding = Finding(key="all", summary=say(""), subjects=[stream])
    for by_debt, baselines, owner in ((True, [taken()], ""), (False, [taken()], "/one"), (True, [], "/one")):
        evidence = Evidence(owner=lambda _, by_debt=by_debt: ("/one", by_debt), baselines=baselines, ended=True)  # type: ignore[misc]
        (part,) = attribute(finding, evidence)
        assert part.owner == owner
