"""Sources become modules by a compiler: which one, what it is given, and where the lines of what it makes lead."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from girih.diagnostics import CompileError
from girih.front.shaders import compile as compiling
from girih.front.shaders import compile_shader
from girih.front.shaders.compilers import COMPILERS, Compiler
from girih.front.shaders.includes import with_includes
from girih.source import Source
from girih.spirv import Module
from girih.spirv.lines import SourceLines
from tests.cases import every_case
from tests.cli.helpers import girih

SHADERS = Path(__file__).resolve().parent.parent.parent.parent / "examples" / "shaders"

MAIN = """\
#version 460
#extension GL_GOOGLE_include_directive : require
#include "parts/scaled.glsl"
layout(local_size_x = 32) in;
layout(binding = 0) buffer Target { float b[]; };
void main() {
    b[gl_GlobalInvocationID.x] = scaled(b[0]);
}
"""
SCALED = '#include "factor.glsl"\nfloat scaled(float x) {\n    return FACTOR * x;\n}\n'
FACTOR = "#define FACTOR 3.0\n"
KERNEL = """\
RWStructuredBuffer<float> b;
[shader("compute")]
[numthreads(32, 1, 1)]
void any_name(uint3 id : SV_DispatchThreadID) {
    b[id.x] = b[0] * 3.0;
}
"""
PASTED = """\
#version 460
#extension GL_GOOGLE_include_directive : require
#line 1 "parts/scaled.glsl"
#line 1 "parts/factor.glsl"
#define FACTOR 3.0

#line 2 "parts/scaled.glsl"
float scaled(float x) {
    return FACTOR * x;
}

#line 4 "main.comp"
layout"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    texts = {"main.comp": MAIN, "parts/scaled.glsl": SCALED, "parts/factor.glsl": FACTOR, "kernel.slang": KERNEL}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def test_includes_are_pasted_and_keep_their_lines(folder: Path) -> None:
    text, files = with_includes(Source(MAIN, "main.comp"))
    assert text.startswith(PASTED)
    assert [one.name for one in files] == ["parts/scaled.glsl", "parts/factor.glsl"]


def test_includes_that_stay(folder: Path) -> None:
    head = "#extension GL_GOOGLE_include_directive : require\n"
    kept = {
        "no extension": '#include "parts/factor.glsl"\n',
        "no file": head + '#include "parts/none.glsl"\n',
        "a comment": head + '/*\n#include "parts/factor.glsl"\n*/\n//\n// #include "parts/factor.glsl"\n',
        "not at the beginning of a line": head + 'a #include "parts/factor.glsl"\n',
        "a folder": head + '#include "parts"\n',
    }
    with every_case() as case:
        for name, text in kept.items():
            with case(name):
                assert with_includes(Source(text, "main.comp")) == (text, ())
    Path("self.comp").write_text(head + '#include "self.comp"\n', encoding="utf-8")
    text, files = with_includes(Source(Path("self.comp").read_text(encoding="utf-8"), "self.comp"))
    assert len(files) == 1 and text.count('#include "self.comp"') == 1 and text.count("#line 1") == 64


def test_a_shader_without_a_version_is_refused_before_a_compiler_sees_it(folder: Path) -> None:
    Path("none.comp").write_text("// #version 460\nvoid main() {\n}\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "compiler_for", lambda path: COMPILERS[0])
        done = girih("check", "none.comp")
    assert done.status == 1
    assert "error[spirv.compile.version]: expected: a line #version 420 or later" in done.output
    assert "--> none.comp:1:1" in done.output


def test_where_no_compiler_is_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "compiler_for", lambda path: None)
    done = girih("check", "main.comp", "kernel.slang")
    assert done.status == 1
    assert (
        "error[spirv.compile.compiler]: expected: a compiler of .comp files "
        "(glslang, glslangValidator, glslc, glslang of slangpy); found: none\n"
        "  --> main.comp\n  hint: `pip install 'girih[glsl]'` brings slangpy\n"
    ) in done.output
    assert "files (slangc, Slang of slangpy); found: none" in done.output


@pytest.mark.skipif(os.name != "posix", reason="the compiler is a script of a POSIX shell")
def test_a_program_on_the_path_is_called_with_debug_information(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""#!/bin/sh
echo "$@" > called
while [ "$1" != -o ]; do shift; done
cp {SHADERS / "tile.spv"} "$2"
echo "WARNING: main.comp:1: '#version' : strange"
"""
    Path("glslang").write_text(script, encoding="utf-8")
    Path("glslang").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    module, (warning,) = compile_shader("main.comp", MAIN.encode())
    assert module == Module.from_bytes((SHADERS / "tile.spv").read_bytes())
    # Lines of the module are not taken for those of the source.
    assert (module.name, [one.name for one in module.sources]) == ("main.comp (disassembled)", ["main.comp"])
    assert (warning.code, warning.span.text) == ("spirv.compile.warning", "#version")
    called = Path("called").read_text(encoding="utf-8").split()
    assert called[:7] == ["-V", "--target-env", "vulkan1.3", "-g", "-S", "comp", "-I."]
    assert called[-1] == "main.comp"
    shutil.copy("main.comp", "-main.comp")
    compile_shader("-main.comp", MAIN.encode())
    assert Path("called").read_text(encoding="utf-8").split()[-1] == "./-main.comp"
    Path("glslang").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(CompileError, match="glslang: it ended without a module and without a word"):
        compile_shader("main.comp", MAIN.encode())


def compilers_of(ending: str) -> list[Compiler]:
    return [one for one in COMPILERS if ending in one.endings]


def take(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a compiler be the one that is called, or skip the test where it is not installed."""
    if not compiler.is_here():
        pytest.skip(f"{compiler.name} is not installed")
    monkeypatch.setattr(compiling, "compiler_for", lambda path: compiler)


@pytest.mark.parametrize("compiler", compilers_of(".comp"), ids=lambda one: one.name)
def test_lines_of_a_module_lead_into_the_files_of_a_shader(
    compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(compiler, monkeypatch)
    module, told = compile_shader("main.comp", MAIN.encode())
    assert told == []
    (product,) = (one for one in module.instructions if one.name == "OpFMul")
    place = SourceLines(module).of(product.index)
    assert place is not None
    assert (place.file, place.line, place.text) == ("parts/scaled.glsl", 3, "return FACTOR * x;")
    Path("main.comp").write_text(MAIN.replace("scaled(b[0])", "scalde(b[0])"), encoding="utf-8")
    with pytest.raises(CompileError) as refused:
        compile_shader("main.comp", Path("main.comp").read_bytes())
    first = refused.value.diagnostics[0]
    assert (first.code, str(first.span), first.span.text) == ("spirv.compile.error", "main.comp:7:34", "scalde")


@pytest.mark.parametrize("compiler", compilers_of(".slang"), ids=lambda one: one.name)
def test_lines_of_a_module_lead_into_slang(compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take(compiler, monkeypatch)
    module, told = compile_shader("kernel.slang", KERNEL.encode())
    assert told == []
    (product,) = (one for one in module.instructions if one.name == "OpFMul")
    place = SourceLines(module).of(product.index)
    assert place is not None
    assert (place.file, place.line) == ("kernel.slang", 5)


def test_the_compiled_shader_of_the_examples_is_that_of_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("glslang") is None:
        pytest.skip("glslang is not installed")
    monkeypatch.chdir(SHADERS)
    made, _ = compile_shader("tile.comp", Path("tile.comp").read_bytes())
    assert made.to_text(header=False) == Module.from_bytes(Path("tile.spv").read_bytes()).to_text(header=False)
