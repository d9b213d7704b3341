"""Damage to files, and what a reader may make of it: a right result, or one clear sentence; never a crash, never a hang."""

from __future__ import annotations

import contextlib
import signal

import numpy as np

#: Seconds that a case may take on a slow and busy machine.
_LIMIT = 20
#: What means something in one format or another, or is more than it should be.
_TOKENS = [
    *(b"", b"\0", b"\n", b"\r", b'"', b"'", b",", b";", b"\t", b" ", b":", b"#", b"%", b"%%MatrixMarket", b"PK\x03\x04"),
    *(
        b"0",
        b"-1",
        b"1e999",
        b"nan",
        b"inf",
        b"-",
        b".",
        b"999",
        b"2147483648",
        b"9223372036854775808",
        b"99999999999999999999",
    ),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", "é".encode(), "∞".encode(), b"\x93NUMPY", b"{", b"}", b"[", b"null", b"true"),
]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The bytes of a file after one to three accidents."""
    for _ in range(int(rng.integers(1, 4))):
        content = _ACCIDENTS[int(rng.integers(len(_ACCIDENTS)))](content, rng)
    return content


def _span(content, rng):
    begin = int(rng.integers(len(content) + 1))
    return begin, min(len(content), begin + int(rng.integers(1, 1 + int(rng.choice([2, 8, 64, 1024])))))


def _flipped(content, rng):
    out = bytearray(content)
    for at in rng.integers(0, max(1, len(out)), min(len(out), int(rng.integers(1, 5)))):
        out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _cut(content, rng):
    return content[: int(rng.integers(len(content) + 1))]


def _without(content, rng):
    begin, end = _span(content, rng)
    return content[:begin] + content[end:]


def _repeated(content, rng):
    begin, end = _span(content, rng)
    return content[:end] + content[begin:end] * int(rng.integers(1, 4)) + content[end:]


def _overwritten(content, rng):
    begin, end = _span(content, rng)
    return content[:begin] + rng.bytes(end - begin) + content[end:]


def _with_token(content, rng):
    begin, end = _span(content, rng)
    token = _TOKENS[int(rng.integers(len(_TOKENS)))]
    return content[:begin] + token + content[begin if rng.random() < 0.5 else end :]


def _another_number(content, rng):
    """One number of a text, replaced."""
    digits = [at for at in range(len(content)) if content[at : at + 1].isdigit() and not content[at - 1 : at].isdigit()]
    if not digits:
        return content
    begin = end = digits[int(rng.integers(len(digits)))]
    while content[end : end + 1].isdigit():
        end += 1
    return content[:begin] + _TOKENS[int(rng.integers(len(_TOKENS)))] + content[end:]


def _swapped_lines(content, rng):
    lines = content.split(b"\n")
    a, b = rng.integers(0, len(lines), 2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


_ACCIDENTS = [_flipped, _cut, _without, _repeated, _overwritten, _with_token, _another_number, _swapped_lines]


@contextlib.contextmanager
def no_hang():
    """Raise an error in what takes too long."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return

    def interrupt(*_):
        raise AssertionError(f"no answer within {_LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(work):
    """What ``work`` returns, or None if it refuses in one sentence; anything else is raised."""
    try:
        with no_hang():
            return work()
    except (ValueError, OSError) as error:
        refusal = error
    # Subclasses of ValueError, such as UnicodeDecodeError, are not ours.
    assert type(refusal) is ValueError or isinstance(refusal, OSError), repr(refusal)
    assert_clear(str(refusal))
    return None


def assert_clear(sentence):
    assert sentence.strip()
    assert "\n" not in sentence, sentence
    assert len(sentence) < 600, sentence
