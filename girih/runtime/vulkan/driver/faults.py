"""What a driver answers where it cannot: calls that fail, and drivers that do not open."""

from __future__ import annotations

from girih.runtime.vulkan.driver.structures import RESULTS


class VulkanFault(Exception):
    """A call that failed: the name of the command, and Vulkan's number of the result."""

    def __init__(self, command: str, result: int) -> None:
        self.command, self.result = command, result
        name, says = RESULTS.get(result, (f"VkResult {result}", "a failure that girih has no words for"))
        super().__init__(f"{command} gives {name} ({says})")


class NoDriverError(Exception):
    """No driver that opens and has a device; `tried` says of each what was wrong."""

    def __init__(self, tried: list[str]) -> None:
        self.tried = tuple(tried)
        super().__init__("no Vulkan driver opens")
