"""``dataclass``, ``field`` and ``replace`` as ``dataclasses`` has them, for classes that cost little to make.

``dataclasses`` writes the methods of each class as text and compiles them, and loads ``inspect`` for it: that
was a third of starting ``to-parquet``. Here all classes share methods that go by the fields' names. What a
class can have is what binx uses: fields with and without defaults, slots always, ``frozen``, bases that are
such classes too, ``__post_init__``. To other programs they are dataclasses: ``dataclasses.asdict``,
``fields`` and ``replace`` take them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

_ABSENT: Any = object()


class _Default:
    """What ``field`` tells of a field: its default, or what makes one, and whether it is shown."""

    __slots__ = ("default", "default_factory", "repr")

    def __init__(
        self,
        default: Any = _ABSENT,
        default_factory: Callable[[], Any] | None = None,
        repr: bool = True,  # noqa: A002
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.repr = repr

    def make(self) -> Any:
        """The value of a field that was not given."""
        return self.default if self.default_factory is None else self.default_factory()

    @property
    def is_known(self) -> bool:
        """Whether the field may be left out."""
        return self.default is not _ABSENT or self.default_factory is not None


class _Shape:
    """The fields of a class: names, defaults, what sets and gets them in order, what looks at them."""

    __slots__ = ("check", "defaults", "get", "names", "put")

    def __init__(self, names: tuple[str, ...], defaults: dict[str, _Default]) -> None:
        self.names = names
        self.defaults = defaults
        self.check: Callable[[Any], None] | None = None
        self.put: tuple[Callable[[object, object], None], ...] = ()
        self.get: Callable[[object], object] = attrgetter(*names) if names else bool

    def complete(self, kind: str, values: tuple[Any, ...], named: dict[str, Any]) -> Iterator[Any]:
        """The values of all fields, of which some are given by name or not at all.

        Raises:
            TypeError: there are more or other values than fields, or one has none.
        """
        if len(values) > len(self.names):
            raise TypeError(f"{kind} takes {len(self.names)} values, found {len(values)}")
        yield from values
        for name in self.names[len(values) :]:
            if name in named:
                yield named.pop(name)
                continue
            default = self.defaults.get(name)
            if default is None or not default.is_known:
                raise TypeError(f"{kind} needs a value for {name}")
            yield default.make()
        if named:
            raise TypeError(f"{kind} has no fields to give, or has them already: {', '.join(named)}")


class _Fields:
    """The fields as ``dataclasses`` knows them, which makes them itself when another program asks."""

    def __get__(self, _: object, owner: type[_Record]) -> Any:
        import dataclasses

        shape = owner._shape
        fields: list[tuple[str, Any, Any]] = []
        types: dict[str, Any] = {}
        for kind in reversed(owner.__mro__):
            types.update(vars(kind).get("__annotations__", {}))
        for name in shape.names:
            default = shape.defaults.get(name, _Default())
            facts: dict[str, Any] = {"repr": default.repr}
            if default.default_factory is not None:
                facts["default_factory"] = default.default_factory
            elif default.is_known:
                facts["default"] = default.default
            fields.append((name, types[name], dataclasses.field(**facts)))
        made: Any = dataclasses.make_dataclass(owner.__name__, fields)
        owner.__dataclass_fields__ = made.__dataclass_fields__
        return made.__dataclass_fields__


_FIELDS = _Fields()


class _Record:
    """The methods of all classes."""

    __slots__ = ()
    __dataclass_fields__: Any
    _shape: _Shape

    def __init__(self, *values: Any, **named: Any) -> None:
        shape = self._shape
        given = values
        if named or len(values) != len(shape.put):
            given = tuple(shape.complete(type(self).__name__, values, named))
        for put, value in zip(shape.put, given, strict=True):
            put(self, value)
        if shape.check is not None:
            shape.check(self)

    def __repr__(self) -> str:
        shape = self._shape
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in shape.names
            if name not in shape.defaults or shape.defaults[name].repr
        ]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        get = self._shape.get
        return get(self) == get(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[_Record], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self._shape.names)


class _FrozenRecord(_Record):
    """The same where fields cannot be set."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self._shape.get(self))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r}")


def _dataclass(*, frozen: bool = False, slots: bool = True) -> Callable[[type[T]], type[T]]:
    """Make a class one of fields, as ``dataclasses.dataclass`` does.

    Args:
        frozen: whether fields cannot be set, so that records can be keys.
        slots: must be wanted.
    """
    assert slots
    return lambda kind: _made(kind, _FrozenRecord if frozen else _Record)


def _made(kind: type[T], base: type[_Record]) -> type[T]:
    """The class anew, with slots and the shared methods."""
    members = dict(vars(kind))
    own: tuple[str, ...] = tuple(members.get("__annotations__", ()))
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    before = getattr(kind, "_shape", None)
    defaults = {} if before is None else dict(before.defaults)
    for name in own:
        if name in members:
            given = members.pop(name)
            defaults[name] = given if isinstance(given, _Default) else _Default(given)
    names = own if before is None else (*before.names, *(name for name in own if name not in before.names))
    shape = _Shape(names, defaults)
    members["_shape"] = shape
    members["__dataclass_fields__"] = _FIELDS
    members["__slots__"] = own if before is None else tuple(name for name in own if name not in before.names)
    members["__match_args__"] = names
    members["__qualname__"] = kind.__qualname__
    bases = kind.__bases__
    if before is None:
        bases = (base,) if bases == (object,) else (*bases, base)
    create: Any = type(kind)
    made: type[T] = create(kind.__name__, bases, members)
    shape.check = getattr(made, "__post_init__", None)
    shape.put = tuple(getattr(made, name).__set__ for name in names)
    return made


def _replace(record: Any, /, **changes: Any) -> Any:
    """The same record with other values of some fields.

    Raises:
        TypeError: there is no such field.
    """
    values = [changes.pop(name) if name in changes else getattr(record, name) for name in record._shape.names]
    return type(record)(*values, **changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _Default, _replace

__all__ = ["dataclass", "field", "replace"]
