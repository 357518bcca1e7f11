"""A device for the tests of OpenCL, which are skipped where there is none."""

import pytest

from girih.runtime.opencl.devices import OpenClDevice, devices
from girih.runtime.opencl.session import OpenClSession, session_of


@pytest.fixture(scope="session")
def device() -> OpenClDevice:
    able = [one for one in devices() if one.flaw is None]
    if not able:
        there = "; ".join(f"{one.name}: {one.flaw}" for one in devices()) or "none is installed"
        pytest.skip(f"no driver of OpenCL that takes SPIR-V ({there}); pip install intel-opencl-rt intel-cmplr-lib-rt")
    return able[0]


@pytest.fixture(scope="session")
def session(device: OpenClDevice) -> OpenClSession:
    return session_of(device)
