"""Which files a tool call is about to change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.harnesses.shell import parser, tool_calls

FOLDER = "/repo"
VARIABLES = {"HOME": "/home/ada", "TARGET": "src/a.py", "SPLIT": "a b"}


class Disk:
    """A file system of which only the listing is known."""

    def is_folder(self, path: str) -> bool:
        return os.path.normpath(path) in {"/repo/src", "/repo/docs"}

    def exists(self, path: str) -> bool:
        return os.path.normpath(path) in {"/repo/.git", "/repo/src", "/repo/docs", "/repo/src/a.py", "/repo/src/b.py"}

    def matching(self, pattern: str) -> Sequence[str]:
        return [path for path in ("/repo/src/a.py", "/repo/src/b.py") if fnmatch(path, os.path.normpath(pattern))]


def targets(tool: str, **fields: object) -> list[str]:
    return tool_calls.targets(tool, fields, FOLDER, Disk(), VARIABLES).paths


def bash(command: str, variables: Mapping[str, str] = VARIABLES) -> list[str]:
    found = tool_calls.targets("Bash", {"command": command}, FOLDER, Disk(), variables)
    return [path.removeprefix("/repo/") for path in found.paths]


def unclear(command: str) -> list[str]:
    """The commands whose files cannot be known; no other may be named then."""
    found = tool_calls.targets("Bash", {"command": command}, FOLDER, Disk(), VARIABLES)
    assert found.paths == []
    return found.unclear


@pytest.mark.parametrize(
    ("tool", "fields", "found"),
    [
        ("Edit", {"file_path": "/repo/a.py", "old_string": "x", "new_string": "y"}, ["/repo/a.py"]),
        ("Write", {"file_path": "sub/../a.py", "content": ""}, ["/repo/a.py"]),
        ("MultiEdit", {"file_path": "/elsewhere/a.py", "edits": []}, ["/elsewhere/a.py"]),
        ("NotebookEdit", {"notebook_path": "/repo/n.ipynb", "new_source": ""}, ["/repo/n.ipynb"]),
        ("write_file", {"file_path": "a.py", "content": ""}, ["/repo/a.py"]),
        ("replace", {"file_path": "/repo/a.py", "old_string": "", "new_string": ""}, ["/repo/a.py"]),
        ("apply_patch", {"command": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}, ["/repo/a.py"]),
        ("run_shell_command", {"command": "rm a.py", "dir_path": "docs"}, ["/repo/docs/a.py"]),
        ("shell", {"command": ["bash", "-lc", "rm 'a b.py'"], "workdir": "/x"}, ["/x/a b.py"]),
        ("exec_command", {"cmd": "touch new"}, ["/repo/new"]),
        ("Read", {"file_path": "/repo/a.py"}, []),
        ("mcp__tally__rooms", {"op": "list"}, []),
        ("Edit", {}, []),
        ("Edit", {"file_path": None}, []),
        ("Bash", {"command": {"not": "text"}}, []),
    ],
)
def test_each_tool_names_its_files_in_its_own_way(tool: str, fields: dict[str, object], found: list[str]) -> None:
    assert targets(tool, **fields) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("echo hi > a.txt", ["a.txt"]),
        ("echo hi >> a.txt 2> errors.log", ["a.txt", "errors.log"]),
        ("make &> build.log", ["build.log"]),
        ("echo hi >| a.txt; cat <> b.txt", ["a.txt", "b.txt"]),
        ("make > /dev/null 2>&1", []),
        ("make > /dev/shm/a.py", ["/dev/shm/a.py"]),
        ("make >& both.log", ["both.log"]),
        ("cat < in.txt | grep x", []),
        ("cat <<< 'a > b'", []),
        ("cat > 'a b.txt' <<'EOF'\nx > y\nrm z\nEOF\ntouch after", ["a b.txt", "after"]),
        ("cat <<-EOF > a\n\tx\n\tEOF\nrm b", ["a", "b"]),
        ("cat <<A >x | tee y\nrm no\nA", ["x", "y"]),
    ],
)
def test_redirections_are_writes_and_what_they_feed_is_not(command: str, found: list[str]) -> None:
    assert bash(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("sed -i 's/a/b/' a.py b.py", ["a.py", "b.py"]),
        ("sed -i.bak -e s/a/b/ -e s/c/d/ a.py", ["a.py"]),
        ("sed -n --in-place=~ 's/a/b/' a.py", ["a.py"]),
        ("sed -ni s/a/b/ a.py", ["a.py"]),
        ("sed 's/a/b/' a.py", []),
        ("perl -pi -e 's/a/b/' a.py", ["a.py"]),
        ("perl -i -pe 's/a/b/' a.py", ["a.py"]),
        ("perl -pie 's/a/b/' a.py", ["a.py"]),
        ("perl -MList::Util=first -ne print a.py; perl -Ilib -ne print a.py", []),
        ("perl -0777pi -e 's/a/b/' a.py; perl -lpi.bak -e 1 b.py", ["a.py", "b.py"]),
        ("ruby -rinifile -ne 'print' a.py; yq --inplace '.a = 1' b.yml; yq -pini .a c.ini", ["b.yml"]),
        ("patch --dry-run a.py < fix.diff", []),
        ("echo x | tee -a a.py b.py", ["a.py", "b.py"]),
        ("rm -rf -- -odd a.py", ["-odd", "a.py"]),
        ("touch -d yesterday a.py", ["a.py"]),
        ("truncate -s 0 a.py", ["a.py"]),
        ("mv a.py b.py", ["a.py", "b.py"]),
        ("mv a.py src", ["a.py", "src/a.py"]),
        ("mv a.py b.py new/", ["a.py", "b.py", "new/a.py", "new/b.py"]),
        ("mv -t docs a.py b.py", ["a.py", "b.py", "docs/a.py", "docs/b.py"]),
        ("cp a.py b.py", ["b.py"]),
        ("cp -r x/y.py docs", ["docs/y.py"]),
        ("cp --target-directory=docs a.py", ["docs/a.py"]),
        ("cp a.py", []),
        ("ln -sf a.py b.py", ["b.py"]),
        ("install -m 644 a.py docs", ["docs/a.py"]),
        ("dd if=/dev/zero of=a.bin bs=1", ["a.bin"]),
        ("curl -s example.test -o page.html", ["page.html"]),
        ("sort -o a.txt a.txt", ["a.txt"]),
        ("patch a.py < fix.diff", ["a.py"]),
        ("patch -p1 <<'X'\n--- a/a.py\n+++ b/a.py\nX", ["a.py"]),
        ("curl --output=page.html x; wget -Oother.html y", ["page.html", "other.html"]),
        ("busybox rm a.py", ["a.py"]),
        ("gawk -i inplace '{print}' a.py", ["a.py"]),
        ("rsync -a x.py docs", ["docs/x.py"]),
        ("ruff check --fix src; ruff format a.py; ruff check .", ["src", "a.py"]),
        ("npx prettier --write a.js; prettier --check b.js; gofmt -w c.go", ["a.js", "c.go"]),
        ("cargo clippy --fix -- -D warnings", ["/repo"]),
        ("cargo fmt -- --check; cargo build; go test ./...; terraform plan", []),
        ("go fmt ./...; dart format lib; pyupgrade a.py; autoflake -i b.py", ["/repo", "lib", "a.py", "b.py"]),
        ("yq -i '.a = 1' a.yml; yq .a b.yml; scp host:x src/c.py", ["a.yml", "src/c.py"]),
        ("uv run black .; python -m isort b.py", ["/repo", "b.py"]),
        ("bash <<'EOF'\nrm a.py\nEOF", ["a.py"]),
        ("find docs -delete; find src -type f -exec sed -i s/a/b/ {} +", ["docs", "src"]),
        ("[[ a > src ]] && [[ -f x ]]; (( 3 > src ))", []),
        ("sd old new a.py; ex -sc wq b.py; vim -c wq c.py", ["a.py", "b.py", "c.py"]),
        ("script -qc 'rm a.py' /dev/null; su -c 'rm b.py' me", ["a.py", "b.py"]),
    ],
)
def test_commands_that_change_their_operands_name_them(command: str, found: list[str]) -> None:
    assert bash(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git mv a.py b.py", ["a.py", "b.py"]),
        ("git rm --cached a.py", ["a.py"]),
        ("git checkout -- a.py b.py", ["a.py", "b.py"]),
        ("git checkout HEAD~1 -- a.py", ["a.py"]),
        ("git checkout .", ["/repo"]),
        ("git checkout src/a.py", ["src/a.py"]),
        ("git checkout HEAD src/a.py", ["src/a.py"]),
        ("git checkout -b topic", []),
        ("git switch -c topic", []),
        ("git stash", ["/repo"]),
        ("cd src && git stash push -u -m x", ["/repo"]),
        ("git stash push -- a.py", ["a.py"]),
        ("git stash list", []),
        ("git rebase --abort", []),
        ("git --git-dir .git --work-tree . checkout -- a.py", ["a.py"]),
        ("git checkout -f; cd src && git checkout --force main", ["/repo"]),
        ("git checkout -f -- a.py", ["a.py"]),
        ("git switch --discard-changes main", ["/repo"]),
        ("cd src && git restore :/", ["/repo"]),
        ("git restore a.py", ["a.py"]),
        ("git restore --source HEAD~2 a.py", ["a.py"]),
        ("git restore --staged a.py", []),
        ("git reset --hard origin/main", ["/repo"]),
        ("git reset a.py", []),
        ("git clean -fdx", ["/repo"]),
        ("git clean -n", []),
        ("git -C docs rm a.md", ["docs/a.md"]),
        ("git -c core.x=y -C $UNKNOWN rm a.md", []),
        ("git commit -m 'rm a.py > b'", []),
        ("git apply <<'X'\n--- a/a.py\n+++ b/a.py\nX", ["a.py"]),
    ],
)
def test_git_commands_that_change_files_name_them(command: str, found: list[str]) -> None:
    assert bash(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cd docs && rm a.md", ["docs/a.md"]),
        ("(cd docs && rm a.md); rm b.md", ["docs/a.md", "b.md"]),
        ("cd $UNKNOWN && rm a.md; rm /abs/b.md", ["/abs/b.md"]),
        ("cd -; rm a.md", []),
        ("cd; rm a.md", ["/home/ada/a.md"]),
        ("if true; then rm a; else touch b; fi", ["a", "b"]),
        ("! { rm a; }", ["a"]),
        ("sudo -u root rm a", ["a"]),
        ("X=1 Y='2 3' env -u Z A=b rm a", ["a"]),
        ("timeout -k 5 10s rm a", ["a"]),
        ("/usr/bin/rm a", ["a"]),
        ("bash -lc 'cd docs; rm a > b'", ["docs/b", "docs/a"]),
        ("sh script.sh", []),
        ("eval rm a", ["a"]),
        ("echo $(touch a) `rm b`", ["a", "b"]),
        ("tee >(cat > inner) <(rm x)", ["inner", "x"]),
        ("echo 'a; rm b' # ; rm c", []),
        ('echo "$(rm "a b")"', ["a b"]),
        ("rm a\\ b", ["a b"]),
        ("rm a \\\n  b", ["a", "b"]),
        ("rm $'a'b", ["ab"]),
    ],
)
def test_a_command_is_found_wherever_it_stands(command: str, found: list[str]) -> None:
    assert bash(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("rm $TARGET ${TARGET}", ["src/a.py"]),
        ("rm $HOME/x ~/y", ["/home/ada/x", "/home/ada/y"]),
        ('rm $UNKNOWN $SPLIT "$UNKNOWN/x"', []),
        ("F=b.py; rm $F; F=$UNKNOWN; rm $F", ["b.py"]),
        ('export F=b.py && rm "$F"', ["b.py"]),
        ("for f in x y; do rm $f; done", ["x", "y"]),
        ('for f in src/*.py; do sed -i s/a/b/ "$f"; done', ["src/a.py", "src/b.py"]),
        ('cd "$(git rev-parse --show-toplevel)" && rm src/a.py', ["src/a.py"]),
        ("rm $(pwd)/a.py", ["a.py"]),
        ("(( 3 > src )); if ((a>b)); then rm a; fi; ((cd docs; rm b); rm c)", ["a", "docs/b", "c"]),
        ("rm src/*.py", ["src/a.py", "src/b.py"]),
        ("rm 'src/*.py'", ["src/*.py"]),
        ("rm src/{a,b}.py {x,y}/{1,2}", ["src/a.py", "src/b.py", "x/1", "x/2", "y/1", "y/2"]),
        ("rm src/{a,nothing}*.py", ["src/a.py"]),
        ("rm '{a,b}' {a} {}", ["{a,b}", "{a}", "{}"]),
        ("echo $((1 > 2))", []),
        ("xargs grep x < list; find . -name x; python -c 'open(\"x\")'", []),
    ],
)
def test_what_can_be_known_is_expanded_and_the_rest_names_nothing(command: str, found: list[str]) -> None:
    assert bash(command) == found


@pytest.mark.parametrize(
    ("command", "writers"),
    [
        ("grep -l x | xargs sed -i s/a/b/", ["xargs sed"]),
        ("xargs -0 -n 1 rm < list", ["xargs rm"]),
        ("find . -name '*.py' -delete", ["find -delete"]),
        ("find . -name '*.py' -exec sed -i s/a/b/ {} \\;", ["find -exec sed"]),
        ("patch -p1 < x.patch", ["patch"]),
        ("git apply x.patch", ["git apply"]),
        ("git checkout main", ["git checkout"]),
        ("git stash pop", ["git stash"]),
        ("git pull --rebase; git merge topic", ["git pull", "git merge"]),
        ("git cherry-pick abc; git rebase main; git revert HEAD", ["git cherry-pick", "git rebase", "git revert"]),
        ("python - <<'EOF'\nopen('src/a.py', 'w')\nEOF", ["python"]),
        ("python3 -c \"from pathlib import Path; Path('a').write_text('')\"", ["python3"]),
        ("node -e 'fs.writeFileSync(x)'", ["node"]),
        ("rm $UNKNOWN", ["rm"]),
        ("cd $UNKNOWN && rm a.md", ["rm"]),
        ("echo x > $UNKNOWN", ["a redirection"]),
        ("A=aa; " + "A=$A$A; " * 22 + "rm $A", ["rm"]),
        ('while read -r f; do rm "$f"; done', ["rm"]),
        ('for f in *.md; do mv "$f" "$f.bak"; done', ["mv"]),
        ("tar xzf x.tgz; unzip y.zip", ["tar", "unzip"]),
        ("pre-commit run --all-files; pre-commit install", ["pre-commit"]),
        ("parallel -j2 rm < list; fd -e py -x sed -i s/a/b/; fd py", ["parallel rm", "fd -exec sed"]),
        ("git bisect start; git bisect bad; git submodule update --init", ["git bisect", "git submodule"]),
        ("python script.py; grep x | xargs cat; git log; git diff; ls", []),
    ],
)
def test_a_writer_whose_files_cannot_be_known_is_named(command: str, writers: list[str]) -> None:
    assert unclear(command) == writers


HUGE = 256 * 1024


@pytest.mark.parametrize(
    "command",
    [
        "rm " + "x" * HUGE,
        "rm " + "a " * (HUGE // 2),
        'rm "' + "x" * HUGE,
        "rm {" + "," * HUGE,
        "rm {" + "a," * (HUGE // 2) + "b}",
        "rm " + "{" * HUGE,
        "$(" * (HUGE // 2),
        "(" * HUGE,
        "`" * HUGE,
        "A=1 " * (HUGE // 4) + "rm x",
        "git " + "-c a=b " * (HUGE // 8),
        "rm " + "a/" * (HUGE // 2),
        "rm " + "*" * HUGE,
        "apply_patch <<'E'\n*** Add File: " + " " * HUGE + "x\nE",
        "for f in " + "a " * 1000 + "; do " + "rm $f; " * 1000 + "done",
        "python -c '" + "open(" * (HUGE // 5) + "'",
        "rm " + "{,,,,,,,,,,}" * 4 + (" " + "{,,,,,,,,,,}" * 4) * (HUGE // 50),
        "A=" + "x" * (HUGE // 2) + "; rm" + " $A" * (HUGE // 6),
        "".join(f"A{number}=1;" for number in range(HUGE // 16)) + "`x`" * (HUGE // 6),
        "sudo " * (HUGE // 5) + "rm x",
        "cd " + "a/" * (HUGE // 4) + "; mv" + " a" * (HUGE // 4) + " src",
    ],
    ids=lambda command: command[:12],
)
def test_a_huge_command_line_is_read_in_one_pass(command: str) -> None:
    """Read again for every letter, each of these would take hours."""
    found = tool_calls.targets("Bash", {"command": command}, FOLDER, Disk(), VARIABLES)

    assert len(found.paths) <= 2001


def test_a_path_with_a_nul_hides_no_other() -> None:
    patch = "*** Begin Patch\n*** Update File: a\0b\n*** Update File: src/a.py\n*** End Patch"

    assert targets("apply_patch", command=patch) == ["/repo/src/a.py"]


PATCH = """\
*** Begin Patch
*** Add File: new.py
+*** Update File: not-a-header
*** Update File: old.py
*** Move to: moved.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""

DIFF = """\
diff --git a/old.py b/new.py
rename from old.py
rename to new.py
diff --git a/x.sql b/x.sql
--- a/x.sql
+++ b/x.sql
@@ -1,2 +1,2 @@
--- a/comment.sql
+++ b/added.sql
 kept
--- a/gone.py
+++ /dev/null
--- "a/with \\"quotes\\".py"\t2026-01-01
"""


def test_both_names_of_a_moved_file_are_read_from_a_patch() -> None:
    assert targets("apply_patch", command=PATCH) == [f"/repo/{n}.py" for n in ("new", "old", "moved", "gone")]


def test_a_unified_diff_is_read_by_its_headers_and_not_by_lines_that_look_like_them() -> None:
    found = bash(f"cd docs && git apply <<'END'\n{DIFF}\nEND")

    assert found == [f"docs/{name}" for name in ("old.py", "new.py", "x.sql", "gone.py", 'with "quotes".py')]


def test_a_patch_command_in_the_shell_is_read_like_the_tool() -> None:
    assert bash(f"apply_patch <<'EOF'\n{PATCH}\nEOF") == ["new.py", "old.py", "moved.py", "gone.py"]
    assert targets("shell", command=["apply_patch", PATCH]) == targets("apply_patch", command=PATCH)


PIECES = [
    "a",
    "b c",
    "$X",
    "'",
    '"',
    "\\",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    ",",
    ">",
    "<<E",
    "\n",
    ";",
    "&",
    "|",
    "#",
    "*",
    " ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_command_line_is_too_broken_to_be_read(text: str) -> None:
    assert isinstance(bash(text), list)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), min_size=1), min_size=1, max_size=3))
def test_words_are_read_as_the_shell_reads_them(words: list[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)

    (command,) = parser.commands(f"echo {quoted}")

    assert [word.text for word in command.words] == ["echo", *words]


def test_many_braces_do_not_multiply_without_end() -> None:
    assert bash("rm " + "{a,b}" * 60) == []


SCRIPTS = [
    "echo x > one; cp one two; mv two three",
    "mkdir d; cd d; touch inner; (cd ..; touch outer); touch last",
    "touch {a,b}.txt; rm a.*; for x in p; do echo 1 > fixed; done",
    "F=named; echo x >> $F; cat > heredoc <<E\n> no\nE\nsed -i s/x/y/ named",
    "bash -c 'echo x | tee t1 t2 >/dev/null'; : $(echo y > sub)",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_file_that_a_real_shell_changes_was_foretold(script: str, tmp_path: Path) -> None:
    foretold = set(tool_calls.targets("Bash", {"command": script}, str(tmp_path), Disk(), {}).paths)

    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)

    changed = {str(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert changed - foretold == set()
