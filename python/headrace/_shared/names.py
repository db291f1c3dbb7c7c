"""Names that a program gives, of tables, columns, channels and the like: how long a database's may be."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

from ..errors import ProgrammingError


@functools.cache
def _in_sql() -> re.Pattern[str]:
    """A name in SQL, in any database's quotes or without."""
    return re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|([^\W\d][\w$]*)')


@dataclass(frozen=True)
class NameLength:
    """How long the names of a database may be. A server may shorten a longer one, also to that of another table."""

    title: str
    """The database, as messages have it."""
    longest: int
    unit: Literal["bytes", "characters"]
    """The unit of ``longest``."""

    def check(self, name: str) -> None:
        """Raises ProgrammingError for a name that is too long."""
        if len(name) * 4 <= self.longest:
            return
        length = len(name) if self.unit == "characters" else len(name.encode(errors="surrogatepass"))
        if length > self.longest:
            raise ProgrammingError(
                f"the name '{name:.60}...' has {length} {self.unit}, and names of {self.title} at most {self.longest}: "
                "the server would not take it, or shorten it, maybe to another name that there is"
            )

    def check_sql(self, sql: str) -> None:
        """Raises ProgrammingError if a name in SQL is too long, such as one of the parts of ``schema.table``."""
        if len(sql) * 4 <= self.longest:
            return
        for found in _in_sql().finditer(sql):
            double, back, bracket, plain = found.groups()
            if double is not None:
                self.check(double.replace('""', '"'))
            elif back is not None:
                self.check(back.replace("``", "`"))
            else:
                self.check(plain if bracket is None else bracket)
