"""Values of settings → validated values, or the problem of each. Loads pydantic."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, ValidationError, create_model


class SettingRule(NamedTuple):
    """What a value must satisfy besides its type."""

    limits: Mapping[str, Any]  #: pydantic constraints
    check: Callable[[Any], Any] | None  #: raises ValueError or returns the final value


class CheckedValues(NamedTuple):
    """The validated values by setting, or the problems, each with its setting."""

    values: dict[str, Any]
    problems: list[tuple[str, str]]


def setting_types(settings: type) -> dict[str, Any]:
    """The type of each setting of this class."""
    return get_type_hints(settings, localns={"SecretStr": SecretStr})


def check_values(settings: type, values: Mapping[str, Any], rules: Mapping[str, SettingRule]) -> CheckedValues:
    """Validates the values by the types of the class and by the rules. A problem never repeats the value, which may be
    a secret."""
    types = setting_types(settings)
    shapes: dict[str, Any] = {name: (_annotate(types[name], rules[name]), ...) for name in values}
    # The default regex engine takes 30 ms to compile `\w{1,64}`.
    model = create_model("ChangedSettings", __config__=ConfigDict(regex_engine="python-re"), **shapes)
    try:
        valid = model(**values)
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False)
        return CheckedValues({}, [(str(d["loc"][0]), d["msg"].removeprefix("Value error, ")) for d in details])
    return CheckedValues({name: getattr(valid, name) for name in values}, [])


def _annotate(hint: Any, rule: SettingRule) -> Any:
    limited = Annotated[hint, Field(**rule.limits)]
    return Annotated[limited, AfterValidator(rule.check)] if rule.check else limited
