internal import CLibunwind
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// From a verdict to an episode.
extension Watchdog {
    /// The module map is read before a capture (libraries come and go, also at the same address), at most so often: 0.2 ms.
    private static let modulesAgeNanoseconds: UInt64 = 10_000_000

    func act(on verdict: StallDetector.Verdict, _ index: Int, _ reading: BeaconReading, _ now: UInt64) {
        let line = registry.lines + index
        let entry = registry.entries + index
        switch verdict {
        case .nothing: break
        case .suspected:
            entry.pointee.earlier = ThreadState(tid: entry.pointee.target.tid)
        case .stalled(let since):
            entry.pointee.stalls.add(1, ordering: .relaxed)
            entry.pointee.episode = queue.takeFree()
            // Before the capture, which takes its time: should the stall end meanwhile, its end is known exactly.
            clu_beacon_arm(line.pointee.beacon, Self.semaphore.raw, UInt32(CLU_ARMED_ANY))
            if let episode = entry.pointee.episode { take(queue.episodes[episode], index, since, reading) }
        case .hanging:
            guard let episode = entry.pointee.episode, let line = queue.takeFree() else {
                entry.pointee.dropped.add(1, ordering: .relaxed)
                break
            }
            queue.episodes[line].copy(queue.episodes[episode])
            close(line, .begin, until: now)
        case .ended(let since, let until, let word): end(index, since, until, .end, word)
        case .suppressed: entry.pointee.suppressed.add(1, ordering: .relaxed)
        }
    }

    /// The stall's facts and its stack, which is kept only if the loop did not move meanwhile.
    private func take(_ episode: Episode, _ index: Int, _ since: UInt64, _ reading: BeaconReading) {
        let line = registry.lines + index
        let entry = registry.entries + index
        describe(episode, index, since, reading.word)
        let now = clock()
        if now &- modulesReadAt > Self.modulesAgeNanoseconds {
            capture.refreshModules()
            modulesReadAt = now
        }
        guard entry.pointee.target.tid != 0 else {
            episode.outcome = CaptureOutcome.failed(.threadUnknown)
            return
        }
        episode.outcome = capture.capture(entry.pointee.target, earlier: entry.pointee.earlier, into: episode.frames)
        if clu_beacon_word(line.pointee.beacon) != reading.word {
            episode.outcome = CaptureOutcome.failed(.loopMovedOn)
        }
    }

    private func describe(_ episode: Episode, _ index: Int, _ since: UInt64, _ word: UInt64) {
        let line = registry.lines + index
        let entry = registry.entries + index
        episode.watch = index
        episode.sinceNanoseconds = since
        episode.thresholdNanoseconds = entry.pointee.detector.rule.thresholdNanoseconds
        episode.startRealtimeNanoseconds = Self.realtime(of: since)
        episode.random = (random.next(), random.next())
        episode.activity = BeaconReading(word: word, calloutNanoseconds: 0).activity
        episode.mode = clu_beacon_mode(line.pointee.beacon)
        episode.outcome = CaptureOutcome.failed(.noFreeSlot)
    }

    private func end(_ index: Int, _ since: UInt64, _ until: UInt64, _ phase: Episode.Phase, _ word: UInt64) {
        let entry = registry.entries + index
        entry.pointee.earlier = nil
        if let episode = entry.pointee.episode {
            entry.pointee.episode = nil
            close(episode, phase, until: until)
        } else if let episode = queue.takeFree() {
            // There was no memory for it when it began: its length is known all the same.
            describe(queue.episodes[episode], index, since, word)
            close(episode, phase, until: until)
        } else {
            entry.pointee.dropped.add(1, ordering: .relaxed)
        }
    }

    private func close(_ episode: Int, _ phase: Episode.Phase, until: UInt64) {
        queue.episodes[episode].phase = phase
        queue.episodes[episode].untilNanoseconds = until
        queue.giveReady(episode)
        notify()
    }

    /// Ends one watch. What is still in progress is abandoned; a stall that is over by now has ended properly.
    func finish(_ index: Int) {
        let line = registry.lines + index
        let entry = registry.entries + index
        let reading = BeaconReading(line.pointee.beacon)
        if reading.word != line.pointee.lastWord { inspect(index, reading, at: clock(), lost: 0) }
        switch entry.pointee.detector.finish() {
        case .nothing: break
        case .stalled(let since, let word): end(index, since, clock(), .abandoned, word)
        case .suppressed: entry.pointee.suppressed.add(1, ordering: .relaxed)
        }
        // Another watch of the same loop may count on the arming: the round of looks restores it.
        clu_beacon_disarm(line.pointee.beacon)
        line.pointee.state.store(.retired, ordering: .releasing)
    }

    func endAll() {
        for index in 0..<registry.count {
            switch registry.lines[index].state.load(ordering: .acquiring) {
            case .active, .ending: finish(index)
            case .free, .retired: break
            }
        }
        notify()
    }

    /// The wall clock's reading at a monotonic time, by what both say now.
    private static func realtime(of monotonic: UInt64) -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = clu_now_ns()
        let age = now > monotonic ? now - monotonic : 0
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - Int64(clamping: age)
    }
}
