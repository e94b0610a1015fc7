import unittest

from support import FileTest

from fake_host import Failure, function_number
import numpy

TABLE = "quench_averaging_table"


class Averaging:
    def __init__(self, worker, parameters="{}"):
        self.channel = worker.channel
        answer = self.call("create", self.channel.body().blob(parameters.encode()).u64(len(parameters))).status()
        self.number = answer.u64()

    def call(self, name, body):
        return self.channel.call(1, function_number(TABLE, name), body)

    def body(self):
        return self.channel.body().u64(self.number)

    def members(self, steps):
        body = self.body().u64(len(steps) + 1)
        for step in steps:
            body.text("step%d" % step).i64(step, -1)
        return body.u64(len(steps))

    def select(self, steps, last):
        answer = self.call("select", self.members(steps).u64(last)).status()
        selected = list(answer.array("u8"))
        assert answer.u64() == len(selected)
        answer.finish()
        return selected

    def begin(self, steps):
        self.call("begin", self.members(steps)).status().finish()

    def accumulate(self, member, values):
        values = numpy.asarray(values, "f8")
        self.call("accumulate", self.body().u64(member).blob(values.tobytes()).u64(len(values))).status().finish()

    def finish(self, count):
        answer = self.call("finish", self.body().u64(count)).status()
        values = answer.array("f8")
        answer.finish()
        return values


class AveragingTest(FileTest):
    SOUP = """
        import quench

        @quench.averaging(window=quench.Integer(3, low=1))
        def last_ones(members, window):
            if len(members) < window:
                raise quench.Error(quench.FAILED_PRECONDITION, "%s: too few" % members[-1].name)
            return [0] * (len(members) - window) + [1 / window] * window
    """

    def test_a_function_weighs_its_members(self):
        averaging = Averaging(self.work(self.SOUP), '{"window": 2}')
        steps = [0, 100, 200, 300]
        self.assertEqual(averaging.select(steps, 2), [1, 2])
        averaging.begin([100, 200])
        values = numpy.random.default_rng(0).standard_normal((2, 300))
        for chunk in (values, values * 2):
            averaging.accumulate(0, chunk[0])
            averaging.accumulate(1, chunk[1])
            numpy.testing.assert_array_equal(averaging.finish(300), 0.5 * chunk[0] + 0.5 * chunk[1])
        self.assertEqual(averaging.call("needs", averaging.body()).u64(), 0)

    def test_too_few_members_give_the_reason_of_the_function(self):
        averaging = Averaging(self.work(self.SOUP), '{"window": 3}')
        with self.assertRaises(Failure) as failure:
            averaging.select([0, 100, 200], 1)
        self.assertEqual((failure.exception.status, failure.exception.message), (2, "step100: too few"))

    def test_weights_that_change_without_the_members_left_out_are_refused(self):
        averaging = Averaging(self.work("""
            import quench

            @quench.averaging
            def unsteady(members):
                return [0] + [1 / len(members)] * (len(members) - 1)
        """))
        with self.assertRaises(Failure) as failure:
            averaging.select([0, 100, 200], 2)
        self.assertEqual(failure.exception.status, 1)

    def test_an_open_sum_goes_on_in_another_instance(self):
        worker = self.work(self.SOUP)
        first, second = Averaging(worker, '{"window": 2}'), Averaging(worker, '{"window": 2}')
        for averaging in (first, second):
            averaging.begin([1, 2])
        with self.assertRaises(Failure):
            first.call("sums_size", first.body()).status()
        first.accumulate(0, [1.0, 2.0])
        self.assertEqual(first.call("sums_size", first.body()).status().u64(), 2)
        sums = first.call("sums_get", first.body().u64(2)).status().array("f8")
        second.call("sums_set", second.body().u64(1, 2).blob(sums.tobytes()).u64(2)).status().finish()
        for averaging in (first, second):
            averaging.accumulate(1, [5.0, 6.0])
        numpy.testing.assert_array_equal(first.finish(2), second.finish(2))

    def test_a_class_sums_as_it_likes(self):
        averaging = Averaging(self.work("""
            import numpy, quench

            @quench.averaging
            class Median:
                any_order = True

                def accumulate(self, member, values):
                    self.all = [values] if member == 0 else self.all + [values]

                def finish(self):
                    return numpy.median(self.all, axis=0)
        """))
        self.assertEqual(averaging.call("needs", averaging.body()).u64(), 1)
        self.assertEqual(averaging.select([1, 2, 3], 2), [0, 1, 2])
        averaging.begin([1, 2, 3])
        for member, values in enumerate(([1, 9], [2, 7], [8, 8])):
            averaging.accumulate(member, values)
        numpy.testing.assert_array_equal(averaging.finish(2), [2, 8])


if __name__ == "__main__":
    unittest.main()
