/// Lines for the commands that read them.
enum StallLines {
    static func line(
        _ number: Int,
        phase: String = "end",
        milliseconds: String = "400.000",
        fingerprint: String = "v1:6648237ade8e460d",
        host: String = "web-1",
        culprit: String = "App.acquire",
        more: String = ""
    ) -> String {
        let last = String(number, radix: 16)
        let id = "01a1ff4b-22ee-7d69-964c-" + String(repeating: "0", count: 12 - last.count) + last
        let frames = [
            ("0x7ffbe1ccb12b", "__lll_lock_wait", "libc.so.6"), ("0x55e5d2a2c90e", culprit, "server"),
            ("0x55e5d2a20000", "main", "server"),
        ]
        let stack = frames.map {
            #"{"pc":"\#($0.0)","module":"\#($0.2)","build_id":"93ac61ec","offset":"0x8612b","symbol":"\#($0.1)","symbol_offset":43,"in_app":true}"#
        }
        return
            #"{"schema":"lagmonitor.stall.v1","time":"2026-11-21T18:07:56.654466405Z","id":"\#(id)","event":"stall","phase":"\#(phase)","#
            + #""severity":"warning","message":"main was stalled","kind":"callout","fingerprint":"\#(fingerprint)","#
            + #""stack_hash":"9088f728ab831587","duration_ms":\#(milliseconds),"threshold_ms":150.000,"mono_us":30477272205,"#
            + #""boot_id":"b467c849c0ae4c7c87c50b3069c2f79a","pid":24361,"thread_id":24362,"thread_name":"server","#
            + #""process_name":"server","host_name":"\#(host)","loop":"main","cause":"lock","capture":"passive","samples":3,"#
            + #""samples_matched":3,"culprit":"\#(culprit)","culprit_confidence":0.900,"seq":4,"dropped_total":0,"#
            + #""suppressed_total":0,"frames_total":3,"frames":[\#(stack.joined(separator: ","))]\#(more)}"# + "\n"
    }

    /// Two samples in one function, one in another, and a part without samples.
    static let tree =
        #","sample_tree":[{"ms":390.000,"samples":3,"frames":["main","App.f"],"children":"#
        + #"[{"ms":250.000,"samples":2,"frames":["App.g;h","App.acquire"]},{"ms":100.000,"samples":1,"frames":["a->b"]}]}]"#
}
