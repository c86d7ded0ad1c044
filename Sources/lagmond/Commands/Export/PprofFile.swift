internal import LagModel

/// An uncompressed profile of pprof (github.com/google/pprof, `proto/profile.proto`): the number of stalls, and their time in
/// nanoseconds, a unit that pprof scales for display.
struct PprofFile {
    private var strings: [String] = [""]
    private var stringIndices: [String: UInt64] = ["": 0]
    private var mappings: [String: UInt64] = [:]
    private var functions: [String: UInt64] = [:]
    private var body = ProtobufWriter()

    /// - Parameters:
    ///   - time: the time of the first stall, in nanoseconds since 1970.
    ///   - nanoseconds: from the first stall to the last.
    static func bytes(_ tree: CallTree, time: Int64, nanoseconds: Int64) -> [UInt8] {
        var file = PprofFile()
        return file.encode(tree, time: time, nanoseconds: nanoseconds)
    }

    // Field numbers of `Profile` and of the messages in it.
    private enum Field {
        static let sampleType = 1, sample = 2, mapping = 3, location = 4, function = 5, strings = 6
        static let time = 9, duration = 10, periodType = 11, period = 12, defaultSampleType = 14
    }

    private mutating func encode(_ tree: CallTree, time: Int64, nanoseconds: Int64) -> [UInt8] {
        valueType(Field.sampleType, "stalls", "count")
        valueType(Field.sampleType, "stall", "nanoseconds")
        // Sorted, so that the same lines give the same file.
        let samples = tree.samples.sorted {
            ($0.key.node, tree.labels[$0.key.labels]) < ($1.key.node, tree.labels[$1.key.labels])
        }
        for (key, weight) in samples where weight.nanoseconds > 0 {
            let labels = tree.labels[key.labels].pairs.map { (string($0.name), string($0.value)) }
            body.field(Field.sample) { sample in
                sample.field(1, packed: tree.path(of: key.node).reversed().map { UInt64($0 + 1) })
                sample.field(2, packed: [weight.count, min(weight.nanoseconds, UInt64(Int64.max))])
                for (name, value) in labels {
                    sample.field(3) {
                        $0.field(1, name)
                        $0.field(2, value)
                    }
                }
            }
        }
        for (index, frame) in tree.frames.enumerated() { location(frame, id: UInt64(index + 1)) }
        valueType(Field.periodType, "stall", "nanoseconds")
        body.field(Field.period, 1)
        body.field(Field.time, UInt64(bitPattern: time))
        body.field(Field.duration, UInt64(bitPattern: nanoseconds))
        body.field(Field.defaultSampleType, string("stall"))
        for text in strings { body.field(Field.strings, text: text) }
        return body.bytes
    }

    private mutating func valueType(_ number: Int, _ type: String, _ unit: String) {
        let (type, unit) = (string(type), string(unit))
        body.field(number) {
            $0.field(1, type)
            $0.field(2, unit)
        }
    }

    private mutating func location(_ frame: ExportFrame, id: UInt64) {
        let mapping = mapping(frame)
        let function = function(frame)
        body.field(Field.location) { location in
            location.field(1, id)
            location.field(2, mapping)
            location.field(3, frame.offset ?? 0)
            location.field(4) { line in
                line.field(1, function)
                line.field(2, frame.line ?? 0)
            }
        }
    }

    private mutating func function(_ frame: ExportFrame) -> UInt64 {
        let key = "\(frame.name)\u{1}\(frame.function ?? "")\u{1}\(frame.file ?? "")"
        if let id = functions[key] { return id }
        let id = UInt64(functions.count + 1)
        functions[key] = id
        let (name, system, file) = (string(frame.name), string(frame.function ?? frame.name), string(frame.file ?? ""))
        body.field(Field.function) {
            $0.field(1, id)
            $0.field(2, name)
            $0.field(3, system)
            $0.field(4, file)
        }
        return id
    }

    /// 0: no mapping, for a frame that is in no file.
    private mutating func mapping(_ frame: ExportFrame) -> UInt64 {
        guard let module = frame.module else { return 0 }
        let key = "\(frame.buildID ?? "")\u{1}\(module)"
        if let id = mappings[key] { return id }
        let id = UInt64(mappings.count + 1)
        mappings[key] = id
        let (file, build) = (string(module), string(frame.buildID ?? ""))
        body.field(Field.mapping) {
            $0.field(1, id)
            $0.field(5, file)
            $0.field(6, build)
            // The mapping has function names, and line numbers where the frames have them.
            $0.field(7, 1)
        }
        return id
    }

    private mutating func string(_ text: String) -> UInt64 {
        if let index = stringIndices[text] { return index }
        let index = UInt64(strings.count)
        stringIndices[text] = index
        strings.append(text)
        return index
    }
}
