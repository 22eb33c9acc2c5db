"""Where the contract leaves a choice, the answer is a field here and nowhere else.

The defaults are the profile `notes`. A rule of the loop may ask a policy; a policy never calls
anything.
"""

from __future__ import annotations

from typing import Literal

import attrs
from attrs.validators import in_


@attrs.frozen
class Policy:
    """The choices of one agent.

    - `goes_on_after`: the endings after which the same driver opens the next turn while anything
      is pending (DR-08, DR-09).
    - `after_keep_cancel`: what an aborted turn does with messages that were sent to wake:
      `advance` drives them once the turn has come to rest, `park` leaves them until a later wake.
    - `wakes`: `marks` keeps a wake with its message; `latch` keeps one bit for each activity, set
      under an abort or in maintenance only (WL-01).
    - `refused_clear`: a broad cancel whose clear is refused cancels all the same (`abort`), or not
      (`throw`) (A8).
    - `clear`: a clear or broad cancel removes what is `pending` when it is called, or empties each
      list as it stands when its turn comes (`live`) (A11).
    - `cancel_hits`: the activity of the moment when the call `began`, or when its `clear` is done.
    - `truncation`: max-tokens sticks to the `reason` only, or to the `outcome`: no reply is owed
      any more (A3).
    - `disposal`: nothing starts once disposal began (`fact`), or only while `disposed` is the
      winning `cause` of an abort (A2).
    - `entry`: the messages of a step are recorded when it `opens`, or when its first request is
      `prepared` and the signal is not aborted (ST-02).
    - `no_op`: inside a record's listener a change of nothing `answers`, or is `refused` (RE-01).
    - `disposed_turn`: a turn that opens once disposal began `runs`, or `fails` (A7). Only a
      disposal that looks at the cause lets one open.
    - `disposed_latch`: a maintenance task that was disposed of `replays` the wake that was latched
      before, or has it `forgotten` (A2).
    - `refused_end`: behind a `turn/end` that the log refused no turn opens any more, and each wake
      is told so (`hold`), or the next one opens in a log whose last turn is open (`forget`)
      (TB-04).
    - `interceptor`: what an interceptor of the bus raises is `contained` like the failure of a
      listener, or it `throws` into whatever dispatched (A10).
    """

    goes_on_after: frozenset[str] = frozenset({"completed", "max-tokens"})
    after_keep_cancel: Literal["advance", "park"] = attrs.field(
        default="advance", validator=in_(("advance", "park"))
    )
    wakes: Literal["marks", "latch"] = attrs.field(
        default="marks", validator=in_(("marks", "latch"))
    )
    refused_clear: Literal["abort", "throw"] = attrs.field(
        default="abort", validator=in_(("abort", "throw"))
    )
    clear: Literal["pending", "live"] = attrs.field(
        default="pending", validator=in_(("pending", "live"))
    )
    cancel_hits: Literal["began", "clear"] = attrs.field(
        default="began", validator=in_(("began", "clear"))
    )
    truncation: Literal["reason", "outcome"] = attrs.field(
        default="reason", validator=in_(("reason", "outcome"))
    )
    disposal: Literal["fact", "cause"] = attrs.field(
        default="fact", validator=in_(("fact", "cause"))
    )
    entry: Literal["opens", "prepared"] = attrs.field(
        default="opens", validator=in_(("opens", "prepared"))
    )
    no_op: Literal["answers", "refused"] = attrs.field(
        default="answers", validator=in_(("answers", "refused"))
    )
    disposed_turn: Literal["runs", "fails"] = attrs.field(
        default="runs", validator=in_(("runs", "fails"))
    )
    disposed_latch: Literal["replays", "forgotten"] = attrs.field(
        default="replays", validator=in_(("replays", "forgotten"))
    )
    refused_end: Literal["hold", "forget"] = attrs.field(
        default="hold", validator=in_(("hold", "forget"))
    )
    interceptor: Literal["contained", "throws"] = attrs.field(
        default="contained", validator=in_(("contained", "throws"))
    )
