"""Generates the lines of a fleet of hosts, reproducibly from a seed, and the expected results of queries.

Five days of 10,000 hosts with two services and three releases. Lines are delivered at least once, in no order: some arrive twice, some a day
late, some `end` lines before their `begin`. The expected results are computed without a database, from the arrays from which the lines are
generated.
"""

import numpy

HOUR_NS = 3_600_000_000_000
# 2026-11-02, a Monday, 00:00 UTC, so that all days are in one week of ClickHouse's partitions.
START_NS = 1_793_577_600 * 1_000_000_000
HOURS = 120
HOSTS = 10_000
FINGERPRINTS = 2_000
# These fingerprints appear only in the last release of their service.
NEW_FINGERPRINTS = 40
VERSIONS = ("4.7.0", "4.8.0", "4.9.0")
SERVICES = ("shop", "search")
HANG_US = 5_000_000
CAUSES = ("cpu", "syscall", "lock", "deadlock", "runqueue", "page_fault", "unknown")
BEGIN, END, ABANDONED = 0, 1, 2
PHASES = ("begin", "end", "abandoned")


class Fleet:
    def __init__(self, stalls, seed):
        random = numpy.random.Generator(numpy.random.PCG64(seed))
        self.count = stalls
        self.start_ns = START_NS + random.integers(0, HOURS * HOUR_NS, stalls)
        # A few hosts are much worse than the rest.
        self.host = numpy.minimum((random.pareto(0.9, stalls) * 40).astype(numpy.int64), HOSTS - 1)
        self.host = (self.host * 7919) % HOSTS
        self.service = self.host % 2
        hour = (self.start_ns - START_NS) // HOUR_NS
        # A release is rolled out over twelve hours, host by host; one host in fifty never gets the last one.
        wave = (self.host * 31) % 12
        self.version = (hour >= 30 + wave).astype(numpy.int64) + ((hour >= 84 + wave) & (self.host % 50 != 7))
        known = FINGERPRINTS - NEW_FINGERPRINTS
        self.fingerprint = numpy.minimum((random.pareto(0.7, stalls) * 8).astype(numpy.int64), known - 1)
        is_new = (self.version == 2) & (random.random(stalls) < 0.01)
        self.fingerprint[is_new] = known + random.integers(0, NEW_FINGERPRINTS, int(is_new.sum()))
        self.cause = (self.fingerprint * 13 + (random.random(stalls) < 0.1)) % len(CAUSES)
        self.duration_us = numpy.maximum((random.lognormal(numpy.log(280_000), 0.7, stalls)).astype(numpy.int64), 150_000)
        hangs = random.random(stalls) < 0.015
        self.duration_us[hangs] = HANG_US + random.integers(0, 115_000_000, int(hangs.sum()))
        self.is_hang = self.duration_us >= HANG_US
        self.random_high = random.integers(0, 1 << 12, stalls)
        self.random_low = random.integers(0, 1 << 62, stalls)

        # Which lines a stall has. A hang has a begin line, whose stack may differ. A few hangs end with their process (an abandoned line), and a few
        # of these also have an end line.
        fate = random.random(stalls)
        self.dies = self.is_hang & (fate < 0.02)
        both = self.is_hang & (fate < 0.004)
        # Hangs that are in progress at the end have only a begin line.
        self.goes_on = self.is_hang & (fate >= 0.02) & (fate < 0.025)
        self.begin_fingerprint = numpy.where(random.random(stalls) < 0.2, (self.fingerprint + 1) % known, self.fingerprint)
        index = numpy.arange(stalls)
        parts = [
            (index[self.is_hang], BEGIN),
            (index[~self.dies & ~self.goes_on], END), (index[both], END),
            (index[self.dies], ABANDONED),
        ]
        self.line_stall = numpy.concatenate([part for part, _ in parts])
        self.line_phase = numpy.concatenate([numpy.full(len(part), phase) for part, phase in parts])
        self.final = numpy.where(self.goes_on, BEGIN, numpy.where(self.dies & ~both, ABANDONED, END))

        # When each line is delivered; some are delivered again.
        lines = len(self.line_stall)
        arrival = self.start_ns[self.line_stall] + numpy.where(
            self.line_phase == BEGIN, HANG_US * 1000, self.duration_us[self.line_stall] * 1000
        ) + random.integers(0, 30_000_000_000, lines)
        late = random.random(lines) < 0.03
        arrival[late] += random.integers(0, 36 * HOUR_NS, int(late.sum()))
        again = numpy.flatnonzero(random.random(lines) < 0.06)
        self.line_stall = numpy.concatenate([self.line_stall, self.line_stall[again]])
        self.line_phase = numpy.concatenate([self.line_phase, self.line_phase[again]])
        arrival = numpy.concatenate([arrival, arrival[again] + random.integers(0, 2 * HOUR_NS, len(again))])
        order = numpy.argsort(arrival, kind="stable")
        self.line_stall, self.line_phase = self.line_stall[order], self.line_phase[order]
        self.notices = self._notices(random)

    def _notices(self, random):
        """Lines about suppressed stalls, including duplicates: time, host, fingerprint, number of stalls, milliseconds in thousandths."""
        count = self.count // 200
        columns = [
            START_NS + random.integers(0, HOURS * HOUR_NS, count), random.integers(0, HOSTS, count),
            random.integers(0, FINGERPRINTS, count), random.integers(1, 500, count), random.integers(150_000, 90_000_000, count),
        ]
        again = numpy.flatnonzero(random.random(count) < 0.06)
        return [numpy.concatenate([column, column[again]]) for column in columns], count

    # The expected results.

    def duration_seen_us(self):
        """The duration of each stall; for a stall in progress, that of its begin line."""
        return numpy.where(self.final == BEGIN, HANG_US + 137, self.duration_us)

    def fingerprint_seen(self):
        return numpy.where(self.final == BEGIN, self.begin_fingerprint, self.fingerprint)

    def hour(self):
        return (self.start_ns - START_NS) // HOUR_NS

    def hourly(self):
        """{(hour, service, version, fingerprint): (stalls, thousandths of ms)}"""
        key = ((self.hour() * 2 + self.service) * 3 + self.version) * FINGERPRINTS + self.fingerprint_seen()
        size = HOURS * 6 * FINGERPRINTS
        stalls = numpy.bincount(key, minlength=size)
        # A double represents integers up to 2^53 exactly.
        time = numpy.bincount(key, weights=self.duration_seen_us().astype(numpy.float64), minlength=size).astype(numpy.int64)
        return {int(k): (int(stalls[k]), int(time[k])) for k in numpy.flatnonzero(stalls)}

    def held_back_by_hour(self):
        (time, _, _, _, milliseconds), own = self.notices
        return numpy.bincount((time[:own] - START_NS) // HOUR_NS, weights=milliseconds[:own], minlength=HOURS).astype(numpy.int64)

    # Lines.

    def write_lines(self, path, first, last):
        with open(path, "w") as file:
            file.writelines(self._lines(first, last))

    def _lines(self, first, last):
        stall = self.line_stall[first:last]
        start = self.start_ns[stall]
        milliseconds = start // 1_000_000
        phase = self.line_phase[first:last]
        begins = phase == BEGIN
        # The time of a begin line is slightly inaccurate: the start is known better after the stall.
        time = start + numpy.where(begins, 1_500_000, 0)
        duration = numpy.where(begins, HANG_US + 137, self.duration_us[stall])
        fingerprint = numpy.where(begins, self.begin_fingerprint[stall], self.fingerprint[stall])
        text = numpy.datetime_as_string(time.astype("datetime64[ns]"), unit="ns").tolist()
        rows = zip(
            text, milliseconds.tolist(), self.random_high[stall].tolist(), self.random_low[stall].tolist(), phase.tolist(),
            duration.tolist(), fingerprint.tolist(), self.host[stall].tolist(), self.service[stall].tolist(),
            self.version[stall].tolist(), self.cause[stall].tolist(), (time // 1000).tolist(),
        )
        bodies = {}
        for when, ms, high, low, phase, duration, fingerprint, host, service, version, cause, micro in rows:
            low |= 1 << 63
            identity = f"{ms >> 16:08x}-{ms & 0xffff:04x}-7{high:03x}-{low >> 48:04x}-{low & 0xffffffffffff:012x}"
            key = fingerprint * 3 + version
            if key not in bodies:
                bodies[key] = frames(fingerprint, version)
            yield (
                f'{{"schema":"lagmonitor.stall.v1","time":"{when}Z","id":"{identity}","event":"stall","phase":"{PHASES[phase]}",'
                f'"severity":"{"error" if duration >= HANG_US else "warning"}",'
                f'"message":"main was stalled for {duration // 1000} ms in App.function{fingerprint}","kind":"callout",'
                f'"found_by":["callout"],"fingerprint":"{name(fingerprint)}","stack_hash":"{key * 0x9E3779B97F4A7C15 % (1 << 64):016x}",'
                f'"duration_ms":{duration // 1000}.{duration % 1000:03d},"threshold_ms":150.000,"mono_us":{micro},'
                f'"boot_id":"{host:032x}","pid":{1000 + host % 30000},"thread_id":{1000 + host % 30000},"thread_name":"main",'
                f'"process_name":"{SERVICES[service]}","host_name":"{host_name(host)}","service_name":"{SERVICES[service]}",'
                f'"service_version":"{VERSIONS[version]}","loop":"main","cause":"{CAUSES[cause]}","capture":"passive","samples":3,'
                f'"samples_matched":3,"culprit":"App.function{fingerprint}","culprit_confidence":0.900,"seq":1,"dropped_total":0,'
                f'"suppressed_total":0,{bodies[key]}}}\n'
            )

    def write_notices(self, path):
        columns, _ = self.notices
        with open(path, "w") as file:
            for when, host, fingerprint, held, time in zip(*(column.tolist() for column in columns)):
                text = str(numpy.datetime64(when, "ns"))
                file.write(
                    f'{{"schema":"lagmonitor.stall.v1","time":"{text}Z","event":"suppressed","severity":"warning",'
                    f'"message":"{held} stalls of one fingerprint held back, the last one: main was stalled",'
                    f'"fingerprint":"{name(fingerprint)}","suppressed":{held},"first_time":"{text}Z","last_time":"{text}Z",'
                    f'"longest_ms":150.000,"total_ms":{time // 1000}.{time % 1000:03d},"mono_us":{when // 1000},'
                    f'"boot_id":"{host:032x}","pid":{1000 + host % 30000},"process_name":"{SERVICES[host % 2]}",'
                    f'"host_name":"{host_name(host)}","suppressed_total":{held}}}\n'
                )


def host_name(host):
    return f"node-{host:05d}.example"


def name(fingerprint):
    return f"v1:{(fingerprint + 1) * 0xD6E8FEB86659FD93 % (1 << 64):016x}"


def frames(fingerprint, version):
    """A stack as lagmond writes it; its build IDs depend on the release."""
    build = f"{version + 1:040x}"
    stack = [("libc.so.6", "f" * 40, "__poll", False), ("libswiftCore.so", "e" * 40, "swift_retain", False)]
    stack += [("shop", build, f"App.function{fingerprint + depth}", True) for depth in range(4)]
    stack += [("shop", build, "main", True), ("libc.so.6", "f" * 40, "__libc_start_call_main", False)]
    texts = [
        f'{{"pc":"0x7f{0x1000 + fingerprint * 64 + depth:010x}","module":"{module}","build_id":"{identity}",'
        f'"offset":"0x{0x1000 + fingerprint * 64 + depth:x}","symbol":"{symbol}","symbol_offset":{depth},'
        f'"in_app":{"true" if own else "false"}}}'
        for depth, (module, identity, symbol, own) in enumerate(stack)
    ]
    return f'"frames_total":{len(texts)},"frames":[{",".join(texts)}]'
