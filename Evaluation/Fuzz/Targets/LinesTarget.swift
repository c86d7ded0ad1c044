internal import LagModel
internal import LagReader

/// Reading lines back: scanning, checking and grouping them.
final class LinesTarget: FuzzTarget {
    static let name = "lines"
    let seeds = FuzzLines.all.map { Array($0.utf8) }
    let tokens = [
        #"""#, "\\", "{", "}", "[", "]", ",", ":", "\\u0000", "\\ud800", "1e999", "-", "0x", "null", "true", "{}", "[]",
        "99999999999999999999999", "0.000000000000000000001", #""frames":[]"#, #""sample_tree":[]"#,
        "2261-12-31T23:59:60.999999999Z",
    ]

    init(_ surroundings: FuzzSurroundings) {}

    func read(_ input: [UInt8]) { Self.readEverything(input) }

    /// Scans, checks and groups a line, and reads each field.
    static func readEverything(_ line: [UInt8]) {
        line.withUnsafeBytes { bytes in
            var scanner = LineScanner()
            if scanner.scan(bytes) == nil {
                _ = scanner.stall()
                for field in StallField.allCases {
                    _ = scanner.text(field)
                    _ = scanner.nanoseconds(field)
                    _ = scanner.count(field)
                    _ = scanner.number(field)
                    _ = scanner.time(field)
                }
            }
            var check = LineCheck()
            _ = check.validationErrors(in: bytes)
            var grouping = StallGrouping(by: .culprit, deduplicator: StallDeduplicator())
            grouping.take(bytes)
            grouping.takeOpenLines()
            _ = grouping.finish()
        }
    }
}

/// Lines as lagmond writes them.
enum FuzzLines {
    static let all = [
        #"""
        {"schema":"lagmonitor.stall.v1","time":"2026-11-21T18:07:56.654466405Z","id":"01a1ff4b-22ee-7d69-964c-dc2bec6b1bf6","event":"stall","phase":"end","severity":"error","message":"main: 400 ms","kind":"callout","fingerprint":"v1:6648237ade8e460d","stack_hash":"0123456789abcdef","duration_ms":400.205,"threshold_ms":150.000,"mono_us":123456.789,"boot_id":"00112233445566778899aabbccddeeff","pid":42,"tid":42,"thread_name":"main","process_name":"shop","host_name":"web-1","loop":"main","cause":"lock","cpu_ms":1.250,"capture":"passive","culprit":"App.acquire","culprit_confidence":0.900,"seq":4,"dropped_total":0,"suppressed_total":0,"frames_total":2,"frames":[{"pc":"0x7f00","module":"/opt/shop","build_id":"01ab","offset":"0x10","symbol":"App.acquire"},{"pc":"0x7f10"}],"sample_tree":[{"ms":400.0,"samples":3,"frames":["main"],"children":[{"ms":3.0,"samples":2,"frames":["g"]}]}]}
        """#,
        #"""
        {"schema":"lagmonitor.stall.v1","time":"2026-11-21T18:07:56.654466405Z","event":"dropped","dropped":7,"reason":"queue_full","mono_us":1.000,"boot_id":"00","pid":42,"process_name":"shop","host_name":"web-1","dropped_total":7}
        """#,
        #"""
        {"schema":"lagmonitor.stall.v1","time":"2026-11-21T18:07:56.654466405Z","event":"suppressed","severity":"warning","message":"m","fingerprint":"v1:66","suppressed":3,"total_ms":5.000,"mono_us":1.000,"boot_id":"00","pid":42,"process_name":"shop","host_name":"\u00e9","suppressed_total":7}
        """#,
    ]
}
