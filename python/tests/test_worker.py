import os
import re
import threading
import unittest

from support import FileTest

from fake_host import PACKAGE, Worker, service_number
import numpy
from quantizer_host import Quantizer
import quench
from quench import abi
from quench.describe import Item, describe
from quench.kinds import TABLES
from quench.philox import philox, uniform

PLAIN = """
    import quench

    @quench.quantizer(bits=4)
    def plain(weight, bits):
        return weight
"""


class WorkerTest(FileTest):
    def test_a_worker_ends_with_the_control_socket(self):
        worker = Worker(self.write(PLAIN))
        quantizer = Quantizer(worker)
        quantizer.begin()
        self.assertEqual(worker.end(), (0, ""))

    def test_ready_says_what_describing_says(self):
        worker = self.work(PLAIN)
        described = describe(os.path.join(self.folder, "plugin.py"))
        self.assertEqual(worker.ready, {**described, "libraries": [], "sandbox": "off"})

    def test_a_file_that_cannot_be_described_fails_with_its_reason(self):
        worker = Worker(self.write("x = 1\n"))
        self.assertIn("no plugin", worker.failed)
        self.assertEqual(worker.end()[0], 1)

    def test_a_program_with_another_description_is_refused(self):
        worker = Worker(self.write(PLAIN), description="0" * 64)
        self.assertIn("another version", worker.failed)
        self.assertEqual(worker.end()[0], 1)

    def test_a_call_that_no_table_has_ends_the_worker_with_its_reason(self):
        worker = self.work(PLAIN)
        with self.assertRaises((EOFError, ConnectionError)):
            worker.channel.call(99, 0)
        code, written = worker.end()
        self.assertEqual(code, 4)
        self.assertIn("there is no table 99", written)

    def test_an_object_that_was_closed_is_no_more(self):
        worker = self.work(PLAIN)
        quantizer = Quantizer(worker)
        quantizer.destroy()
        with self.assertRaises((EOFError, ConnectionError)):
            quantizer.needs()
        self.assertIn("there is no object", worker.end()[1])

    def test_a_body_that_ends_too_early_ends_the_worker_whatever_the_plugin_catches(self):
        worker = self.work("""
            import quench

            @quench.quantizer(bits=4)
            def catching(weight, bits):
                try:
                    quench.progress("", 1, 2)
                except Exception:
                    pass
                return weight
        """)
        quantizer = Quantizer(worker, '{"bits": 4}')
        state = quantizer.begin()

        def serve(target, function, answer, reply):
            answer.text(), answer.u64(), answer.u64()
            reply.u64(7)  # what returns nothing has no body

        with self.assertRaises((EOFError, ConnectionError)):
            quantizer.quantize(state, numpy.ones((4, 8)), services=serve)
        self.assertIn("longer than its function's", worker.end()[1])

    def test_empty_arrays_cross(self):
        worker = self.work(PLAIN)
        quantizer = Quantizer(worker, '{"bits": 4}')
        out, _ = quantizer.quantize(quantizer.begin([("a", "q", 0, 8)]), numpy.zeros((0, 8)))
        self.assertEqual(out.shape, (0, 8))

    def test_messages_and_progress_go_to_the_host(self):
        worker = self.work("""
            import quench

            @quench.quantizer(bits=4)
            def telling(weight, bits):
                quench.log("hidden", level="debug")
                quench.log("three of them", level="warning")
                quench.progress("telling", 2, 3)
                return weight
        """)
        quantizer, told = Quantizer(worker, '{"bits": 4}'), []
        state = quantizer.begin()

        def serve(target, function, answer, reply):
            if function == service_number("quench_log", "write"):
                told.append((answer.i64(), answer.text()))
            else:
                self.assertEqual(function, service_number("quench_progress", "report"))
                told.append((answer.text(), answer.u64(), answer.u64()))

        quantizer.quantize(state, numpy.ones((4, 8)), services=serve)
        self.assertEqual(told, [(2, "three of them"), ("telling", 2, 3)])

    def test_a_thread_of_the_plugin_calls_on_the_channel_set_aside(self):
        worker = self.work("""
            import threading
            import quench

            @quench.quantizer(bits=4)
            def threaded(weight, bits):
                thread = threading.Thread(target=quench.log, args=("from a thread",))
                thread.start()
                thread.join()
                return weight
        """)
        quantizer, told = Quantizer(worker, '{"bits": 4}'), []
        host = threading.Thread(target=worker.aside.serve_one, args=(
            lambda target, function, answer, reply: told.append((target, answer.i64(), answer.text())),))
        host.start()
        quantizer.quantize(quantizer.begin(), numpy.ones((4, 8)))
        host.join()
        self.assertEqual(told, [(0, 1, "from a thread")])

    def test_random_numbers_are_those_of_the_program(self):
        known = {(0, 0): "6627e8d5 e169c58d bc57ac4c 9b00dbd8", (0xffffffff, 0xffffffff): "408f276d 41c83b0e a20bc7c6 6d5451fd"}
        for (word, key), expected in known.items():
            counter = [numpy.array([word], numpy.uint64)] * 4
            self.assertEqual(" ".join("%08x" % int(part[0]) for part in philox(counter, (key, key))), expected)
        whole = uniform(7, "python.plugin", "layer.0", 0, 9)
        numpy.testing.assert_array_equal(uniform(7, "python.plugin", "layer.0", 3, 4), whole[3:7])
        self.assertEqual(whole[3:7].tolist(), [12211371578820951032, 5070425214737130798, 2822294656187610472,
                                               2862807197027840722])
        self.assertEqual(whole.dtype, numpy.uint64)
        self.assertFalse((uniform(8, "python.plugin", "layer.0", 0, 9) == whole).any())

    def test_memory_does_not_grow_with_the_number_of_calls(self):
        worker = self.work(PLAIN)
        quantizer = Quantizer(worker, '{"bits": 4}')
        state, weight, sizes = quantizer.begin([("a", "q", 512, 512)], 512), numpy.ones((512, 512)), []
        for _ in range(20):
            quantizer.quantize(state, weight)
            sizes.append(os.fstat(worker.channel.other).st_blocks * 512)
        self.assertEqual(sizes[0], sizes[-1])
        self.assertLess(sizes[-1], 2 << 20)

    def test_every_function_that_an_item_offers_is_there(self):
        description = abi.load()
        for kind, table in TABLES.items():
            for is_class, arguments in ((True, ()), (False, ("weight", "gram", "rows"))):
                item = Item(kind, "any", 1, is_class)
                item.arguments = arguments
                for name in item.functions:
                    self.assertTrue(hasattr(table, name), kind + "." + name)
            required = [f.name for f in description.table_of_kind[kind].functions if not (f.local or f.optional)]
            self.assertLessEqual(set(required), set(item.functions))

    def test_the_statuses_are_those_of_the_header(self):
        path = os.path.join(PACKAGE, os.pardir, "sdk/include/quench/abi/status.h")
        if not os.path.exists(path):
            self.skipTest("the package is not in the source tree")
        with open(path, encoding="utf-8") as file:
            found = re.findall(r"#define QUENCH_([A-Z_]+) (\d+)", file.read())
        for name, number in found:
            if not name.startswith("ABI_"):
                self.assertEqual(getattr(quench, name), int(number))


if __name__ == "__main__":
    unittest.main()
