"""Tests in the kernel of a notebook: its bars, and its button that interrupts. REPEATS is as in
test_calls.py."""

import os
import tempfile
import unittest
from typing import Any

from jupyter_client.manager import start_new_kernel

from smoke_models import write_expert
from test_calls import REPEATS, processes, until


class Notebook(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        os.chdir(self.directory.name)
        for index, name in enumerate(("large-a", "large-b")):
            write_expert(name, index + 1, elements=16 << 20)
        self.before = processes()
        self.manager, self.client = start_new_kernel()

    def tearDown(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        until(lambda: processes() == self.before)
        os.chdir("/")
        self.directory.cleanup()

    def run_cell(self, code: str, interrupt_at: str | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        outputs: list[dict[str, Any]] = []

        def receive(message: dict[str, Any]) -> None:
            outputs.append(message)
            if interrupt_at is not None and message["content"].get("text") == interrupt_at:
                self.manager.interrupt_kernel()

        reply = self.client.execute_interactive(code, output_hook=receive, timeout=60)
        return reply["content"], outputs

    def test_a_bar_is_the_notebooks(self) -> None:
        reply, outputs = self.run_cell(
            "import layerloom, warnings; warnings.simplefilter('ignore', layerloom.LayerloomWarning)\n"
            "layerloom.soup(['large-a', 'large-b'], out='merged', progress=True)['out']"
        )
        self.assertEqual(reply["status"], "ok", reply)
        shown = [message["content"].get("data", {}) for message in outputs]
        self.assertTrue(any("application/vnd.jupyter.widget-view+json" in data for data in shown), outputs)
        # No terminal bar and no warning appears.
        self.assertEqual([message for message in outputs if message["msg_type"] == "stream"], [])

    def test_an_interrupt_stops_the_call_and_leaves_nothing(self) -> None:
        program = """
import layerloom
begun = False
def show(_):
    global begun
    if not begun:
        print("begun", end="", flush=True)
    begun = True
while True:
    layerloom.soup(["large-a", "large-b"], out="merged", force=True, progress=show)
"""
        for _ in range(REPEATS):
            reply, _outputs = self.run_cell(program, interrupt_at="begun")
            self.assertEqual(reply.get("ename"), "KeyboardInterrupt", reply)
            self.assertEqual([name for name in os.listdir() if "partial" in name], [])
        reply, outputs = self.run_cell("print(layerloom.diff('large-a', 'large-b')['equal'])")
        self.assertEqual(outputs[-2]["content"].get("text"), "False\n", outputs)
        self.assertEqual(len(processes() - self.before), 1)


if __name__ == "__main__":
    unittest.main()
