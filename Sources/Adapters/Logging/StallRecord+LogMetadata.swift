#if Logging
    public import LagMonitor
    public import Logging

    extension StallRecord {
        /// The record as structured metadata, with the names of the JSON line. What a record does not say is not there.
        /// - Parameter frames: how many frames at most, innermost first.
        public func logMetadata(frames limit: Int = 16) -> Logger.Metadata {
            var metadata: Logger.Metadata = [
                "event": "stall",
                "id": "\(id)",
                "phase": "\(phase.rawValue)",
                "severity": "\(severity.rawValue)",
                "kind": "\(kind.rawValue)",
                "duration_ms": Self.milliseconds(durationNanoseconds),
                "threshold_ms": Self.milliseconds(thresholdNanoseconds),
                "thread_id": "\(threadID)",
                "thread_name": "\(threadName)",
                "loop": "\(loop)",
                "cause": "\(cause.rawValue)",
                "capture": "\(capture.rawValue)",
                "fingerprint": "\(fingerprint)",
                "stack_hash": "\(stackHash)",
                "samples": "\(samples)",
                "samples_matched": "\(samplesMatched)",
                "seq": "\(sequence)",
                "frames_total": "\(framesTotal)",
            ]
            if !foundBy.isEmpty { metadata["found_by"] = .array(foundBy.map { "\($0.rawValue)" }) }
            if let durationBounds {
                metadata["duration_min_ms"] = Self.milliseconds(durationBounds.lowerBound)
                metadata["duration_max_ms"] = Self.milliseconds(durationBounds.upperBound)
            }
            metadata["excluded_ms"] = excludedNanoseconds.map(Self.milliseconds)
            metadata["activity"] = Self.text(activity)
            metadata["mode"] = Self.text(mode)
            metadata["capture_error"] = Self.text(captureError)
            metadata["culprit"] = Self.text(culprit)
            metadata["culprit_confidence"] = Self.text(culpritConfidence)
            add(evidence, to: &metadata)
            if limit > 0, !frames.isEmpty { metadata["frames"] = .array(frames.prefix(limit).map(Self.frame)) }
            return metadata
        }

        private func add(_ evidence: Evidence, to metadata: inout Logger.Metadata) {
            metadata["cpu_ms"] = evidence.cpuNanoseconds.map(Self.milliseconds)
            metadata["run_delay_ms"] = evidence.runDelayNanoseconds.map(Self.milliseconds)
            metadata["blocked_ms"] = evidence.blockedNanoseconds.map(Self.milliseconds)
            metadata["system_ms"] = evidence.systemNanoseconds.map(Self.milliseconds)
            metadata["minor_faults"] = Self.text(evidence.minorFaults)
            metadata["major_faults"] = Self.text(evidence.majorFaults)
            metadata["syscall"] = Self.text(evidence.syscall)
            metadata["syscall_fd"] = Self.text(evidence.syscallDescriptor)
            metadata["syscall_target"] = Self.text(evidence.syscallTarget)
            metadata["wchan"] = Self.text(evidence.wchan)
            metadata["lock_kind"] = Self.text(evidence.lockKind?.rawValue)
            metadata["lock_address"] = Self.hex(evidence.lockAddress)
            metadata["lock_owner"] = evidence.lockOwner.map(Self.owner)
            if !evidence.lockCycle.isEmpty { metadata["lock_cycle"] = .array(evidence.lockCycle.map(Self.owner)) }
            if !evidence.lockChain.isEmpty { metadata["lock_chain"] = .array(evidence.lockChain.map(Self.owner)) }
        }

        private static func owner(_ owner: LockOwner) -> Logger.MetadataValue {
            var value: Logger.Metadata = ["thread_id": "\(owner.threadID)"]
            value["thread_name"] = text(owner.threadName)
            value["waits_for"] = hex(owner.waitsFor)
            return .dictionary(value)
        }

        private static func frame(_ frame: Frame) -> Logger.MetadataValue {
            var value: Logger.Metadata = [:]
            value["pc"] = hex(frame.pc)
            value["module"] = text(frame.module)
            value["build_id"] = text(frame.buildID)
            value["offset"] = hex(frame.offset)
            value["symbol"] = text(frame.symbol)
            value["file"] = text(frame.file)
            value["line"] = text(frame.line)
            return .dictionary(value)
        }

        private static func text(_ value: (some CustomStringConvertible & Sendable)?) -> Logger.MetadataValue? {
            value.map { .string($0.description) }
        }

        private static func hex(_ value: UInt64?) -> Logger.MetadataValue? {
            value.map { .string("0x" + String($0, radix: 16)) }
        }

        /// Thousandths: as in the line.
        private static func milliseconds(_ nanoseconds: UInt64) -> Logger.MetadataValue {
            .string("\(nanoseconds / 1_000_000).\(String(nanoseconds / 1000 % 1000 + 1000).dropFirst())")
        }
    }
#endif
