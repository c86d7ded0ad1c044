internal import LagModel

extension LineScanner {
    /// The complete stall of the line that was scanned last; nil if it is not a stall's line, or lacks a required field.
    /// Cost: an allocation for most strings.
    package borrowing func stall() -> ParsedStall? {
        var stall = ParsedStall()
        switch kind() {
        case .begin: stall.phase = .begin
        case .end: stall.phase = .end
        case .abandoned: stall.phase = .abandoned
        case .suppressed, .notice, .foreign, .incomplete: return nil
        }
        stall.id = text(.id) ?? ""
        stall.time = time(.time) ?? 0
        stall.durationNanoseconds = nanoseconds(.duration) ?? 0
        stall.fingerprint = text(.fingerprint) ?? ""
        stall.message = text(.message) ?? ""
        stall.kind = text(.kind) ?? ""
        stall.cause = text(.cause) ?? ""
        stall.culprit = text(.culprit)
        stall.loop = text(.loop) ?? ""
        stall.hostName = text(.hostName) ?? ""
        stall.processName = text(.processName) ?? ""
        stall.serviceName = text(.serviceName)
        stall.serviceVersion = text(.serviceVersion)
        stall.labels = labels()
        stall.pid = count(.pid).flatMap(Int64.init(exactly:)) ?? 0
        stall.threadID = count(.threadID).flatMap(Int64.init(exactly:)) ?? 0
        stall.threadName = text(.threadName) ?? ""
        stall.cpuNanoseconds = nanoseconds(.cpu)
        stall.runDelayNanoseconds = nanoseconds(.runDelay)
        stall.blockedNanoseconds = nanoseconds(.blocked)
        stall.syscall = text(.syscall)
        stall.syscallTarget = text(.syscallTarget)
        stall.capture = text(.capture) ?? ""
        stall.samples = count(.samples) ?? 0
        stall.samplesMatched = count(.samplesMatched) ?? 0
        stall.framesTotal = count(.framesTotal) ?? 0
        stall.frames = value(.frames)?.frames ?? []
        if let span = span(.sampleTree), span.kind == .array {
            stall.sampleTree = SampleReader.samples(UnsafeRawBufferPointer(bytes(of: span)))
        }
        return stall
    }
}

/// Reads an array of samples with already checked grammar. Elements of another type are omitted.
enum SampleReader {
    static func samples(_ text: UnsafeRawBufferPointer) -> [ParsedStall.Sample] {
        var cursor = JSONCursor(text)
        return samples(&cursor, text)
    }

    /// The scanner has bounded the depth.
    private static func samples(_ cursor: inout JSONCursor, _ text: UnsafeRawBufferPointer) -> [ParsedStall.Sample] {
        var samples: [ParsedStall.Sample] = []
        _ = cursor.elements { cursor in
            guard cursor.byte == UInt8(ascii: "{") else { return cursor.skipValue(depth: 0) }
            var sample = ParsedStall.Sample()
            let isWhole = cursor.members { cursor, name, hasEscapes in
                let name = JSONString.text(name, hasEscapes: hasEscapes)
                if name == "children", cursor.byte == UInt8(ascii: "[") {
                    sample.children = Self.samples(&cursor, text)
                    return cursor.failure == nil
                }
                if name == "frames", cursor.byte == UInt8(ascii: "[") {
                    return cursor.elements { cursor in
                        guard let span = cursor.value() else { return false }
                        sample.frames.append(LineValue(text, span).text ?? "")
                        return true
                    }
                }
                guard let span = cursor.value() else { return false }
                let value = LineValue(text, span)
                switch name {
                case "ms": sample.nanoseconds = value.milliseconds ?? 0
                case "samples": sample.samples = value.count ?? 0
                case "frames_total": sample.framesTotal = value.count
                case "pruned_ms": sample.prunedNanoseconds = value.milliseconds ?? 0
                default: break
                }
                return true
            }
            samples.append(sample)
            return isWhole
        }
        return samples
    }
}
