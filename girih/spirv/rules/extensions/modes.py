"""Rules about modes that extensions of other stages bring: shading of tiles, and samplers without bindings."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.rules.row import MODULE, family, rule
from girih.spirv.rules.terms import Finds, Subject, instruction_of, literal, satisfies

TILES, BINDLESS = "SPV_QCOM_tile_shading", "SPV_NV_bindless_texture"
RATE, READ = "TileShadingRateQCOM", "NonCoherentTileAttachmentReadQCOM"
SAMPLER_MODE = "OpSamplerImageAddressingModeNV"


def _entry_point(subject: Subject[Facts]) -> EntryPoint | None:
    return next((one for one in subject.facts.entry_points if one.instruction is subject.op), None)


def _with_size(subject: Subject[Facts]) -> str | None:
    entry = _entry_point(subject)
    if entry is None or not entry.mode(RATE):
        return None
    return next((f"{RATE} beside {name}" for name in ("LocalSize", "LocalSizeId") if entry.mode(name)), None)


def _other_model(subject: Subject[Facts]) -> str | None:
    entry = _entry_point(subject)
    for mode, model in ((RATE, "GLCompute"), (READ, "Fragment")):
        if entry is not None and entry.mode(mode) and entry.model_name != model:
            return f"{mode} for {entry.model_name}"
    return None


def _uneven_rate(subject: Subject[Facts]) -> str | None:
    one = instruction_of(subject)
    if one.id("mode") != grammar().kinds["ExecutionMode"].value(RATE):
        return None
    rate = one.ids(RATE)[:2]
    uneven = any(side & side - 1 for side in rate)
    return "x".join(map(str, rate)) if uneven else None


def _no_sampler_mode(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    stated = any(one.name == SAMPLER_MODE for one in facts.instructions)
    return None if stated or not facts.has("BindlessTextureNV") else f"capability BindlessTextureNV, no {SAMPLER_MODE}"


FAMILIES = (
    family(
        "OpEntryPoint",
        rule("tile_size", "", Finds(f"with {RATE}: no LocalSize or LocalSizeId", _with_size),
             f"{RATE} without the size of a work-group", "VUID-StandaloneSpirv-TileShadingRateQCOM-10692", vulkan=True),
        rule("tile_model", "execution_model",
             Finds(f"{RATE} for GLCompute alone, {READ} for Fragment alone", _other_model),
             "an execution model that has the mode", "VUID-StandaloneSpirv-Execution-10687", vulkan=True),
    ),
    family(
        "OpExecutionMode",
        rule("tile_rate", "mode", Finds(f"the sides of {RATE} are powers of 2", _uneven_rate),
             "sides that are powers of 2", TILES, vulkan=True),
    ),
    family(
        SAMPLER_MODE,
        rule("width", "bit_width", satisfies(literal("bit_width"), "is 32 or 64", lambda width: width in (32, 64)),
             "32 or 64 bits", BINDLESS),
    ),
    family(
        MODULE,
        rule("sampler_mode", "", Finds(f"with BindlessTextureNV: {SAMPLER_MODE}", _no_sampler_mode),
             f"an {SAMPLER_MODE} beside capability BindlessTextureNV", BINDLESS),
    ),
)  # fmt: skip
