import LagDiagnosis
internal import LagModel
import TestSupport
import Testing

struct CauseRuleTests {
    private static let ms: UInt64 = 1_000_000

    /// All times in milliseconds.
    private func rule(
        _ duration: UInt64 = 400,
        cpu: UInt64? = nil,
        delay: UInt64? = nil,
        blocked: UInt64? = nil,
        system: UInt64? = nil,
        faults: UInt64? = nil,
        seen: [CauseRule.SampledState: UInt64] = [:]
    ) -> CauseRule {
        var rule = CauseRule(duration: duration * Self.ms)
        rule.cpu = cpu.map { $0 * Self.ms }
        rule.runDelay = delay.map { $0 * Self.ms }
        rule.blocked = blocked.map { $0 * Self.ms }
        rule.system = system.map { $0 * Self.ms }
        rule.faults = faults
        rule.seen = seen.mapValues { $0 * Self.ms }
        return rule
    }

    @Test(arguments: [
        (CauseRule.SampledState.computing, StallRecord.Cause.cpu), (.runningInSystemCall, .syscall), (.waiting, .syscall),
        (.waitingForLock, .lock), (.deadlocked, .deadlock), (.faulting, .pageFault),
    ])
    func `a single state during the whole stall is the cause`(sampledState: CauseRule.SampledState, cause: StallRecord.Cause) {
        #expect(rule(seen: [sampledState: 400]).cause == cause)
        let runs = sampledState == .computing || sampledState == .runningInSystemCall
        let measured = rule(
            cpu: runs ? 398 : 2,
            delay: 0,
            blocked: runs ? 2 : 398,
            system: sampledState == .runningInSystemCall ? 390 : 0,
            faults: 0,
            seen: [sampledState: 400]
        )
        #expect(measured.cause == cause, "\(measured.shares)")
    }

    @Test func `a thread that got no processor has the cause runqueue, whatever it did`() {
        for sampledState in CauseRule.SampledState.allCases {
            #expect(rule(cpu: 100, delay: 250, blocked: 50, seen: [sampledState: 400]).cause == .runqueue)
        }
    }

    /// If it was sampled only in its own code, the samples show nothing about the kernel.
    @Test func `unseen kernel time counts as system calls if there were too few page faults to explain it`() {
        var calling = rule(cpu: 390, delay: 0, blocked: 10, system: 300, faults: 400, seen: [.computing: 400])
        #expect(calling.cause == .pageFault)
        (calling.seesKernel, calling.hasHugePages) = (false, false)
        #expect(calling.cause == .syscall)
        #expect(calling.shares[.syscall] == 300 * Self.ms && calling.shares[.cpu] == 90 * Self.ms)
        // They may be faults of huge pages.
        calling.hasHugePages = true
        #expect(calling.cause == .pageFault)
        var faulting = rule(cpu: 390, delay: 0, blocked: 10, system: 300, faults: 70_000, seen: [.computing: 400])
        (faulting.seesKernel, faulting.hasHugePages) = (false, false)
        #expect(faulting.cause == .pageFault)
        var computing = rule(cpu: 390, delay: 0, blocked: 10, system: 20, faults: 400, seen: [.computing: 400])
        (computing.seesKernel, computing.hasHugePages) = (false, false)
        #expect(computing.cause == .cpu)
    }

    @Test func `page faults explain the kernel time if there were enough of them`() {
        let faulting = rule(cpu: 390, delay: 0, blocked: 10, system: 300, faults: 70_000, seen: [.computing: 400])
        #expect(faulting.cause == .pageFault)
        #expect(faulting.shares[.pageFault] == 300 * Self.ms && faulting.shares[.cpu] == 90 * Self.ms)
        // Ten faults do not take 300 ms.
        let few = rule(cpu: 390, delay: 0, blocked: 10, system: 300, faults: 10, seen: [.computing: 400])
        #expect(few.cause == .cpu && few.shares[.pageFault, default: 0] == 0)
        #expect(rule(cpu: 390, delay: 0, blocked: 10, system: 300, seen: [.computing: 400]).cause == .cpu)
    }

    @Test func `a running system call explains the kernel time before page faults do`() {
        let rule = rule(cpu: 400, delay: 0, blocked: 0, system: 390, faults: 100_000, seen: [.runningInSystemCall: 400])
        #expect(rule.cause == .syscall && rule.shares[.pageFault, default: 0] == 0)
    }

    /// Seen on a busy machine: four of five samples right after a system call, one of which takes a tenth of a millisecond.
    @Test func `system calls count for no more than the kernel time`() {
        let rule = rule(
            500,
            cpu: 400,
            delay: 90,
            blocked: 10,
            system: 0,
            faults: 3,
            seen: [.runningInSystemCall: 400, .computing: 100]
        )
        #expect(rule.cause == .cpu && rule.shares[.syscall, default: 0] <= 30 * Self.ms, "\(rule.shares)")
        // If that time is unknown, the samples decide.
        let unknown = self.rule(500, cpu: 400, delay: 90, blocked: 10, seen: [.runningInSystemCall: 400, .computing: 100])
        #expect(unknown.cause == .syscall)
    }

    @Test func `time asleep is divided in the proportion of the sampled waits`() {
        let rule = rule(cpu: 100, delay: 0, blocked: 300, seen: [.computing: 10, .waiting: 40, .waitingForLock: 20])
        #expect(rule.shares[.syscall] == 200 * Self.ms && rule.shares[.lock] == 100 * Self.ms)
        #expect(rule.shares[.cpu] == 100 * Self.ms)
        #expect(rule.cause == .syscall)
    }

    @Test(arguments: [(UInt64(250), StallRecord.Cause.lock), (150, .cpu)])
    func `of a lock wait and a computation, the longer one is the cause`(blocked: UInt64, cause: StallRecord.Cause) {
        // Sampled in equal parts, measured differently: the measured times count.
        let rule = rule(cpu: 400 - blocked, delay: 0, blocked: blocked, seen: [.waitingForLock: 200, .computing: 200])
        #expect(rule.cause == cause)
        #expect(rule.shares[.lock] == blocked * Self.ms && rule.shares[.cpu] == (400 - blocked) * Self.ms)
    }

    @Test func `sleep that no sample found has the cause unknown`() {
        #expect(rule(cpu: 10, delay: 0, blocked: 390, seen: [.computing: 400]).cause == .unknown)
        #expect(rule(cpu: 10, delay: 0, blocked: 390).cause == .unknown)
        // This does not apply to time on a processor.
        #expect(rule(cpu: 390, delay: 0, blocked: 10).cause == .cpu)
    }

    @Test func `without measured times and samples the cause is unknown`() {
        #expect(rule().cause == .unknown && rule().shares.isEmpty)
        #expect(rule(0, cpu: 0, delay: 0, blocked: 0).cause == .unknown)
    }

    @Test func `without measured times the samples decide`() {
        let rule = rule(cpu: 400, seen: [.computing: 100, .waiting: 60, .runningInSystemCall: 60])
        #expect(rule.cause == .syscall)
        #expect(rule.shares == [.cpu: 100 * Self.ms, .syscall: 120 * Self.ms])
    }

    @Test func `without the run delay the other times decide`() {
        #expect(rule(cpu: 50, blocked: 350, seen: [.deadlocked: 400]).cause == .deadlock)
    }

    @Test func `equal shares always give the same cause`() {
        for _ in 0..<20 {
            #expect(rule(cpu: 200, delay: 0, blocked: 200, seen: [.computing: 200, .waitingForLock: 200]).cause == .cpu)
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func `the shares sum to the duration`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let duration = UInt64.random(in: 1...10_000, using: &random)
            let cpu = UInt64.random(in: 0...duration, using: &random)
            let delay = UInt64.random(in: 0...duration - cpu, using: &random)
            var seen: [CauseRule.SampledState: UInt64] = [:]
            for sampledState in CauseRule.SampledState.allCases {
                seen[sampledState] = UInt64.random(in: 0...3, using: &random) * 100
            }
            let rule = rule(
                duration,
                cpu: cpu,
                delay: delay,
                blocked: duration - cpu - delay,
                system: UInt64.random(in: 0...duration, using: &random),
                faults: UInt64.random(in: 0...1000, using: &random),
                seen: seen
            )
            let sum = rule.shares.values.reduce(0, +)
            // Whole nanoseconds: a few may be lost by rounding.
            #expect(sum <= duration * Self.ms && sum + 10 >= duration * Self.ms, "\(rule)")
        }
    }

    /// Exact even where a floating-point number is not.
    @Test func `the longest times are divided correctly too`() {
        var rule = CauseRule(duration: .max)
        (rule.cpu, rule.runDelay, rule.blocked) = (0, 0, .max)
        rule.seen = [.waiting: .max / 2]
        #expect(rule.shares[.syscall] == .max)
    }
}
