"""Messages: frozen to the bottom, strict to read, and the same after a round trip."""

from __future__ import annotations

import attrs
import pytest

from loopspec.impl import DataBlock, Message, MessageInvalid, TextBlock, text_message


def test_message_survives_json_in_both_directions() -> None:
    """The keys are those of the log."""
    message = Message("A", "user", "hook", (TextBlock("hi"), DataBlock("image", {"at": [1, 2]})))
    data = message.to_json()
    assert {
        "id": "A",
        "role": "user",
        "source": {"kind": "hook"},
        "content": [{"type": "text", "text": "hi"}, {"type": "image", "at": [1, 2]}],
    } == data
    assert message == Message.from_json(data)
    assert hash(message) == hash(Message.from_json(data))


def test_later_changes_of_the_callers_dictionary_have_no_effect() -> None:
    """IN-06."""
    inner = [1]
    block = DataBlock("image", {"at": inner})
    inner.append(2)
    assert {"type": "image", "at": [1]} == block.to_json()
    with pytest.raises(TypeError):
        block.data["at"] = 3  # type: ignore[index]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        text_message("A").id = "B"  # type: ignore[misc]


def test_text_is_the_text_blocks_joined() -> None:
    """Other blocks have no text."""
    blocks = (TextBlock("a"), DataBlock("image"), TextBlock("b"))
    assert "ab" == Message("A", "user", "user", blocks).text
    assert "A" == text_message("A").text


GOOD = text_message("A").to_json()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "message must be an object"),
        ({}, "lacks the key 'id'"),
        ({**GOOD, "more": 1}, "has the key 'more'"),
        ({**GOOD, "id": ""}, "message.id must be a non-empty string"),
        ({**GOOD, "role": "system"}, "message.role must be one of"),
        ({**GOOD, "source": "user"}, "message.source must be an object"),
        ({**GOOD, "source": {"kind": 1}}, "message.source.kind"),
        ({**GOOD, "content": "hi"}, "message.content must be an array"),
        ({**GOOD, "content": ["hi"]}, r"message.content\[0\] must be an object"),
        ({**GOOD, "content": [{}]}, r"message.content\[0\] lacks the key 'type'"),
        ({**GOOD, "content": [{"type": "text", "text": 1}]}, r"content\[0\].text must be"),
        ({**GOOD, "content": [{"type": "text", "text": "", "b": 1}]}, "has the key 'b'"),
    ],
)
def test_other_json_is_refused_with_one_sentence(data: object, says: str) -> None:
    """The sentence names the key."""
    with pytest.raises(MessageInvalid, match=says):
        Message.from_json(data)


def test_content_that_is_no_block_is_refused() -> None:
    """A string where blocks belong is a common slip."""
    with pytest.raises(MessageInvalid, match="TextBlock"):
        Message("A", "user", "user", ("hello",))  # type: ignore[arg-type]
