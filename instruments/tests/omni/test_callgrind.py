# SPDX-License-Identifier: BSD-3-Clause
"""callgrind.read(): whose instructions are whose."""

from omnipgas_tools.targets import callgrind

TEXT = """\
# callgrind format
events: Ir

ob=(1) /somewhere/program
fl=(1) a.cpp
fn=(1) put
10 7
+1 3
cob=(2) /lib/libc.so.6
cfn=(2) memcpy
calls=4 100
12 40
* 2
cob=(3) /stub/libibverbs.so.1
cfn=(3) post_send
calls=4 200
13 900
cfn=(4) note
calls=4 20
14 60
fn=(4)
20 60

ob=(2)
fn=(2)
100 40

ob=(3)
fn=(3)
200 800
cob=(2)
cfn=(2)
calls=1 100
201 100

totals: 1259
"""


def test_own_code_and_what_it_calls_of_others() -> None:
    found = callgrind.read(TEXT, "program", "libibverbs.so.1")
    assert found.own == {"put": 12, "note": 60}
    assert found.others == {"memcpy": 40}
    assert found.total == 1259
    assert found.calls == {"memcpy": 4}
