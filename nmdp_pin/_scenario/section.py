"""A section of a scenario file: a strict record whose errors say what was given and allowed."""

import dataclasses
import functools
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails

from nmdp_pin._options import options_of, refusal, sentence, shown, unknown, worded
from nmdp_pin.errors import NmdpError


class Section(BaseModel):
    """Base of every table of a scenario file: frozen, no unknown keys, worded errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _word_errors(cls, value: Any, handler: "ModelWrapValidatorHandler[Section]") -> "Section":
        """Word the errors while the record that they belong to is known."""
        try:
            return handler(value)
        except ValidationError as error:
            lines = [_worded(cls, line) for line in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(cls.__name__, lines)


class OptionsSection(Section):
    """A section whose keys are the options of a class or function, and what else it needs."""

    target: ClassVar[Callable[..., Any]]
    keys: ClassVar[tuple[str, ...]]
    """Names of the options of `target`."""

    def options(self) -> dict[str, Any]:
        """Keyword arguments for `target`."""
        return {key: getattr(self, key) for key in self.keys}


def chosen(
    base: type[OptionsSection],
    tag: str,
    registry: Callable[[], Mapping[str, Any]],
    section: Callable[[str], type[Section]] | None = None,
) -> PlainValidator:
    """Reader of a table whose key `tag` names the class whose options the other keys are.

    The registry returns the classes, or functions, by name; it is called when a file is read, so
    that what is registered later is found. `section` returns the record of a name, which is
    `options_section` of `base` and the class where it is None.
    """
    field = base.model_fields[tag]

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, base):
            return value
        if not isinstance(value, Mapping):
            raise worded(f"must be a table, got {shown(value)}")
        known = registry()
        name = value.get(tag, None if field.is_required() else field.default)
        if name is None:
            raise refusal(f"is missing; one of: {', '.join(sorted(known))}", (tag,))
        if not isinstance(name, str) or name not in known:
            raise refusal(unknown(str(name), f"a known {tag}", known), (tag,))
        record = section(name) if section else options_section(base, known[name])
        try:
            return record.model_validate({**value, tag: name}, context=info.context)
        except NmdpError as error:
            raise worded(str(error)) from None

    return PlainValidator(validate)


S = TypeVar("S", bound=OptionsSection)


def options_section(
    base: type[S],
    target: Callable[..., Any],
    *,
    skip: tuple[str, ...] = (),
    types: tuple[tuple[str, Any], ...] = (),
) -> type[S]:
    """Record of `base` plus the options of a class or function."""
    result: type[S] = _made(base, target, skip, types)
    return result


@functools.cache  # making a record takes pydantic milliseconds, and each scenario needs them all
def _made(
    base: Any, target: Callable[..., Any], skip: tuple[str, ...], types: tuple[tuple[str, Any], ...]
) -> Any:
    own = options_of(target)
    whole = options_of(target.__self__) if hasattr(target, "__self__") else own
    options = {key: option for key, option in whole.items() if key not in skip}
    options |= {} if whole is own else own
    fields: dict[str, Any] = {
        name: (dict(types).get(name, option.hint), Field(option.default))
        for name, option in options.items()
        if name not in base.model_fields
    }
    name = f"{base.__name__}[{getattr(target, '__name__', target)}]"
    section = create_model(name, __base__=base, **fields)
    section.target = staticmethod(target)  # a function stays unbound
    section.keys = tuple(options)
    return section


def _worded(cls: type[Section], line: Any) -> InitErrorDetails:
    """One error as a sentence; an unknown key gets the closest one that is known."""
    loc, text = line["loc"], sentence(line)
    if line["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = cls.model_fields if len(loc) == 1 else _keys(cls.model_fields[loc[0]].annotation)
        text = unknown(str(loc[-1]), "a key of this table", known)
    return InitErrorDetails(type=worded(text), loc=loc, input=line["input"])


def _keys(hint: Any) -> Iterable[str]:
    """Keys of a table that is a record or dataclass, or may be left out."""
    for part in (hint, *typing.get_args(hint)):
        if dataclasses.is_dataclass(part):
            return [field.name for field in dataclasses.fields(part)]
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part.model_fields
    return ()
