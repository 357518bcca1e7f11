"""A launch of a kernel in Python as a value, whose errors come without the frames of girih."""

from __future__ import annotations

from girih.api import Launch
from girih.decorated.tracebacks import for_users


class PythonLaunch(Launch):
    """A launch that `kernel.bind(...)` of a kernel in Python made."""

    __slots__ = ()

    @for_users
    def run(self) -> None:
        """Launch the kernel on its arguments and wait for it; arrays are changed in place.

        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran.
        """
        self.kernel(*self._values)
