"""A command that names everything that is wrong with a command line, not only the first of it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["Command", "is_usage_error"]


def is_usage_error(error: Exception) -> bool:
    """Whether click, or typer's own copy of it, complains about a command line."""
    return hasattr(error, "format_message")


class Command(TyperCommand):
    """A command whose usage error has notes about what else is wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as click does; where it fails, look at the rest of the line as well."""
        try:
            return super().parse_args(ctx, list(args))
        except Exception as error:
            if is_usage_error(error) and args:
                first, *others = self._complaints(ctx, args) or [""]
                if first == error.format_message():  # type: ignore[attr-defined]
                    for other in others:
                        error.add_note(other)
            raise

    def _complaints(self, ctx: Any, args: list[str]) -> list[str]:
        """Options that do not exist or lack a value, and then values that will not do."""
        found: list[str] = []
        options: dict[str, Any] | None = None
        while options is None:
            try:
                options, rest, order = self.make_parser(ctx).parse_args(args=list(args))
            except Exception as error:
                if not is_usage_error(error):
                    raise
                found.append(error.format_message())  # type: ignore[attr-defined]
                shorter = _without(args, getattr(error, "option_name", None))
                if shorter is None:
                    return found
                args = shorter
        given = [*order, *(p for p in self.get_params(ctx) if p not in order)]
        for parameter in given:
            if parameter.is_eager:  # --help would print and leave
                continue
            try:
                parameter.handle_parse_result(ctx, options, rest)
            except Exception as error:
                if not is_usage_error(error):
                    raise
                found.append(error.format_message())  # type: ignore[attr-defined]
        return list(dict.fromkeys(found))


def _without(args: list[str], option: str | None) -> list[str] | None:
    """A command line without an option that does not exist, None if it is not to be found."""
    for number, arg in enumerate(args):
        clustered = option is not None and len(option) == 2 and not arg.startswith("--")
        if option is not None and (
            arg == option
            or arg.startswith(f"{option}=")
            or (clustered and arg.startswith("-") and option[1] in arg)
        ):
            return args[:number] + args[number + 1 :]
    return None
