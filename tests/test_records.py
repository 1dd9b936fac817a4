"""Records: what ``dataclasses`` makes of the same class is what they are, but for how they are made."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from binx import records


@records.dataclass(frozen=True, slots=True)
class Point:
    """A place."""

    x: int
    y: int = 0


@records.dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "origin"


@records.dataclass(slots=True)
class Track:
    points: list[Point] = records.field(default_factory=list)
    secret: bytes = records.field(default=b"", repr=False)

    @property
    def length(self) -> int:
        return len(self.points)


@records.dataclass(frozen=True, slots=True)
class Even:
    value: int

    def __post_init__(self) -> None:
        if self.value % 2:
            raise ValueError(f"expected an even number, found {self.value}")


def of_dataclasses(kind: type[Any]) -> Any:
    """What ``dataclasses`` makes of a class with the same fields."""
    members: list[tuple[str, Any, Any]] = [
        (
            one.name,
            one.type,
            dataclasses.field(default=one.default, default_factory=one.default_factory, repr=one.repr),
        )
        for one in dataclasses.fields(kind)
    ]
    return dataclasses.make_dataclass(kind.__name__, members, frozen=kind is not Track, slots=True)


CALLS: list[tuple[type[Any], tuple[Any, ...], dict[str, Any]]] = [
    (Point, (1,), {}),
    (Point, (1, 2), {}),
    (Point, (), {"y": 2, "x": 1}),
    (Point, (1,), {"y": 2}),
    (Named, (1, 2, "a"), {}),
    (Named, (1,), {"name": "b"}),
    (Track, (), {}),
    (Track, ([Point(1)],), {"secret": b"key"}),
]


@pytest.mark.parametrize(("kind", "values", "named"), CALLS)
def test_a_record_is_what_dataclasses_would_make(
    kind: type[Any], values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    made, other = kind(*values, **named), of_dataclasses(kind)(*values, **named)
    assert repr(made) == repr(other)
    assert dataclasses.asdict(made) == dataclasses.asdict(other)
    assert kind.__match_args__ == type(other).__match_args__


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1})]
)
def test_what_does_not_fit_the_fields_is_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, of_dataclasses(Point)):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_equal_are_records_of_one_class_with_equal_fields() -> None:
    assert Point(1, 2) == Point(1, y=2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Named(1, 2)
    assert Point(1, 2).__eq__((1, 2)) is NotImplemented
    assert Track([Point(1)]) == Track([Point(1)])


def test_frozen_records_are_keys_and_others_are_not() -> None:
    assert {Point(1, 2): "there"}[Point(1, 2)] == "there"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Track())


def test_fields_of_a_frozen_record_cannot_be_set() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot delete field 'x'"):
        del point.x
    assert point == Point(1)


def test_fields_of_another_record_can_be_set_and_no_others() -> None:
    track = Track()
    track.points = [Point(1)]
    assert track.length == 1
    with pytest.raises(AttributeError):
        track.other = 1  # type: ignore[attr-defined]


def test_defaults_are_made_for_each_record() -> None:
    first, second = Track(), Track()
    first.points.append(Point(1))
    assert second.points == []


@pytest.mark.parametrize("replace", [records.replace, dataclasses.replace])
def test_a_record_with_other_values(replace: Callable[..., Any]) -> None:
    assert replace(Named(1, 2), name="b") == Named(1, 2, "b")
    with pytest.raises(TypeError):
        replace(Point(1), z=1)


@pytest.mark.parametrize("record", [Point(1, 2), Named(3), Track([Point(1)], b"key")])
def test_records_are_copied_and_pickled(record: Any) -> None:
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == copy.copy(record) == record


def test_a_class_may_look_at_its_fields() -> None:
    assert Even(2).value == 2
    with pytest.raises(ValueError, match="found 3"):
        Even(3)
    with pytest.raises(ValueError, match="found 3"):
        records.replace(Even(2), value=3)


def test_a_class_keeps_its_name_its_docstring_and_its_place() -> None:
    assert (Point.__name__, Point.__doc__, Point.__module__) == ("Point", "A place.", __name__)
    assert not hasattr(Point(1), "__dict__")


def test_making_classes_loads_no_dataclasses() -> None:
    program = (
        "import sys\nfrom binx.records import dataclass\n"
        "@dataclass(frozen=True, slots=True)\nclass One:\n    x: int\n"
        "One(1)\nprint('dataclasses' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
