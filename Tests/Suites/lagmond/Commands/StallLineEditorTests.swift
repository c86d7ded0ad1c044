import LagDiagnosis
internal import Testing

@testable internal import lagmond

/// How the editor changes a line, with any names.
struct StallLineEditorTests {
    private static let head =
        #"{"schema":"lagmonitor.stall.v1","event":"stall","duration_ms":350.000,"big":12345678901234567890, "#

    private func line(_ json: String) throws -> StallLine { try #require(StallLine(JSONText(Array(json.utf8)))) }

    private func edited(_ json: String, _ levels: [[ResolvedFrame]]) throws -> String {
        var editor = StallLineEditor()
        return String(decoding: editor.edited(try line(json), levels: levels), as: UTF8.self)
    }

    private let function = ResolvedFrame(simplified: "App.run", symbolOffset: 9, file: "/s/App.swift", line: 12)

    @Test func `file and line are inserted between symbol and in-app flag`() throws {
        let before =
            Self.head + #""frames":[{"pc":"0x1","symbol":"App.run","symbol_offset":7,"in_app":true, "new":[1]}],"x":{"y":1e5}}"#
            + "\n"
        let after = before.replacing(
            #""symbol_offset":7"#,
            with: #""symbol_offset":7,"file":"/s/App.swift","line":12"#
        )
        #expect(try edited(before, [[function]]) == after)
    }

    @Test func `a missing symbol is added`() throws {
        let before = Self.head + #""frames":[{"pc":"0x1","offset":"0x10","in_app":true}]}"#
        let after = before.replacing(
            #""0x10""#,
            with: #""0x10","symbol":"App.run","symbol_offset":9,"file":"/s/App.swift","line":12"#
        )
        #expect(try edited(before, [[function]]) == after)
        let name = ResolvedFrame(simplified: "f", symbolOffset: 1)
        #expect(
            try edited(before, [[name]]) == before.replacing(#""0x10""#, with: #""0x10","symbol":"f","symbol_offset":1"#)
        )
    }

    /// Some writers write null where others omit the member.
    @Test func `a member that is present is not added again`() throws {
        let full = ResolvedFrame(name: "App.run()", simplified: "App.run", symbolOffset: 9, file: "/s/App.swift", line: 12)
        let null = Self.head + #""frames":[{"pc":"0x1","symbol":null,"in_app":true}]}"#
        let after = null.replacing("null", with: #"null,"file":"/s/App.swift","line":12"#)
        #expect(try edited(null, [[full]]) == after)
        let others = Self.head + #""frames":[{"symbol_offset":null,"function":null,"line":null,"in_app":true}]}"#
        let added = #"null,"symbol":"App.run","file":"/s/App.swift","line""#
        #expect(try edited(others, [[full]]) == others.replacing(#"null,"line""#, with: added))
        let file = Self.head + #""frames":[{"pc":"0x1","file":null}]}"#
        #expect(try edited(file, [[full]]) == file)
    }

    @Test func `the full function name is added only for functions of the program`() throws {
        let full = ResolvedFrame(name: "App.run(Swift.Int) -> ()", simplified: "App.run")
        let own = Self.head + #""frames":[{"pc":"0x1","in_app":true}]}"#
        let added = #""0x1","symbol":"App.run","function":"App.run(Swift.Int) -> ()""#
        #expect(try edited(own, [[full]]) == own.replacing(#""0x1""#, with: added))
        let system = own.replacing("true", with: "false")
        #expect(try edited(system, [[full]]) == system.replacing(#""0x1""#, with: #""0x1","symbol":"App.run""#))
    }

    @Test func `inlined frames are inserted before their function`() throws {
        let frame = #"{"pc":"0x1","module":"app","build_id":"ab","offset":"0x10","symbol":"App.run","in_app":true}"#
        let inlined = [
            ResolvedFrame(simplified: "Swift.Array.append", file: "/swift/Array.swift", line: 3, isInlined: true),
            ResolvedFrame(simplified: "App.\"q\"", isInlined: true),
        ]
        let shared = #"{"pc":"0x1","module":"app","build_id":"ab","offset":"0x10","#
        let expected = [
            shared + #""symbol":"Swift.Array.append","file":"/swift/Array.swift","line":3,"inlined":true,"in_app":false}"#,
            shared + #""symbol":"App.\"q\"","inlined":true,"in_app":true}"#,
            shared + #""symbol":"App.run","file":"/s/App.swift","line":12,"in_app":true}"#,
        ]
        let before = Self.head + #""frames":["# + frame + "]}"
        #expect(
            try edited(before, [inlined + [function]])
                == before.replacing(frame, with: expected.joined(separator: ","))
        )
    }

    /// The rules of the record had prefixes, so its in-app flag can differ from the editor's rules.
    @Test(arguments: [
        (#""module":"libswiftCore.so","symbol":"X.f","in_app":true"#, [], true),
        (#""module":"libswiftCore.so","symbol":"X.f","in_app":false"#, [], false),
        (#""module":"app","symbol":"Vendor.f","in_app":false"#, [], false),
        (#""module":"app","symbol":"Foundation.f","in_app":false"#, [], true),
        (#""module":"libswiftCore.so","symbol":"X.f","in_app":true"#, ["libswiftCore"], true),
        (#""module":"libswiftCore.so","symbol":"Y.f","in_app":false"#, ["X."], true),
    ])
    func `inlined frames follow the in-app rules of the record`(frame: String, prefixes: [String], isInApp: Bool) throws {
        var editor = StallLineEditor(rules: InAppRules(inAppPrefixes: prefixes))
        let levels = [ResolvedFrame(simplified: "X.inlined", isInlined: true), ResolvedFrame(simplified: "f")]
        let line = try line(Self.head + #""frames":[{"# + frame + "}]}")
        let after = String(decoding: editor.edited(line, levels: [levels]), as: UTF8.self)
        #expect(after.contains(#""inlined":true,"in_app":\#(isInApp)}"#), "\(after)")
    }

    @Test func `a frame without an in-app flag follows the rules of the editor`() throws {
        let full = ResolvedFrame(name: "Swift.f() -> ()", simplified: "Swift.f")
        let before = try line(Self.head + #""frames":[{"pc":"0x1","module":"app"}]}"#)
        for (prefixes, isInApp) in [([], false), (["Swift.f"], true)] {
            var editor = StallLineEditor(rules: InAppRules(inAppPrefixes: prefixes))
            let after = String(decoding: editor.edited(before, levels: [[full]]), as: UTF8.self)
            #expect(after.contains("function") == isInApp)
            #expect(!after.contains("in_app"))
        }
    }

    @Test func `a frame that already has a place is not changed`() throws {
        let before = Self.head + #""frames":[{"pc":"0x1","inlined":true},{"pc":"0x1"},{"pc":"0x1","file":"a.c"},{"pc":"0x2"},7]}"#
        let after = before.replacing(
            #"{"pc":"0x2"}"#,
            with: #"{"pc":"0x2","symbol":"App.run","symbol_offset":9,"file":"/s/App.swift","line":12}"#
        )
        #expect(try edited(before, Array(repeating: [function], count: 5)) == after)
    }

    @Test func `stacks of lock owner, cycle, chain and workers are found`() throws {
        let frames = #""frames":[{"pc":"0x1","offset":"0x5","build_id":"ab"},{"pc":"0x2"}]"#
        let line = try line(
            Self.head + #""lock_owner":{"thread_id":2,"# + frames + #"},"lock_cycle":[{"thread_id":3},{"#
                + frames + #"}],"lock_chain":[{"# + frames + #"}],"workers":[{"thread_ids":[4]},{"#
                + frames + #"}],"other":{"# + frames + "}," + frames + "}"
        )
        #expect(line.frames.count == 10)
        #expect(line.frames.map(\.isReturnAddress) == Array(repeating: [false, true], count: 5).flatMap { $0 })
        #expect(line.frames[0].offset == 5)
        #expect(line.frames[0].buildID == "ab")
    }

    /// Records contain the other threads before the stalled thread's stack; lines of other writers may not.
    @Test(arguments: [
        [#""lock_owner":{FRAMES}"#, #""lock_chain":[{FRAMES}]"#, #""frames":7,FRAMES"#],
        [#""lock_cycle":[{FRAMES},{FRAMES}]"#, "FRAMES"],
        [#""workers":[{"thread_ids":[1]},{"thread_ids":[2,3],FRAMES}]"#, "FRAMES"],
        [#""lock_chain":[{FRAMES}]"#, "FRAMES", #""lock_cycle":[{FRAMES}]"#, #""lock_owner":{FRAMES}"#],
    ])
    func `stacks are edited at any position in the line`(members: [String]) throws {
        let frame = #"{"pc":"0x1","symbol":"App.run"}"#
        let before = (Self.head + members.joined(separator: ",") + "}").replacing("FRAMES", with: #""frames":["# + frame + "]")
        let after = before.replacing(#""App.run""#, with: #""App.run","file":"/s/App.swift","line":12"#)
        let count = before.ranges(of: frame).count
        #expect(try edited(before, Array(repeating: [function], count: count)) == after)
    }

    @Test func `a frame that a signal interrupted is not a return address`() throws {
        let frames = #"[{"symbol":"handler"},{"symbol":"__restore_rt"},{"symbol":"f"},{"symbol":"g"}]"#
        #expect(try line(Self.head + #""frames":"# + frames + "}").frames.map(\.isReturnAddress) == [false, true, false, true])
    }

    @Test func `inlined frames share the address of the leaf frame`() throws {
        let frames = #"[{"inlined":true,"symbol":"a"},{"symbol":"b"},{"symbol":"c"}]"#
        #expect(try line(Self.head + #""frames":"# + frames + "}").frames.map(\.isReturnAddress) == [false, false, true])
    }

    @Test(arguments: [
        "{}", "[]", #"{"schema":"lagmonitor.stall.v1","event":"dropped","frames":[]}"#,
        #"{"schema":"lagmonitor.stall.v2","event":"stall"}"#, #"{"event":"stall","frames":[{"pc":"0x1"}]}"#,
    ])
    func `other JSON texts are not read as stall records`(json: String) throws {
        #expect(StallLine(try JSONText(Array(json.utf8))) == nil)
    }

    @Test func `the text shows time, place, cause and stacks`() throws {
        let json = #"""
            {"schema":"lagmonitor.stall.v1","time":"2026-01-02T03:04:05.000000000Z","event":"stall","phase":"end",
            "message":"main was stalled for 350 ms in App.run","kind":"callout","duration_ms":350.217,"threshold_ms":150.000,
            "pid":7,"thread_name":"app","process_name":"app","host_name":"h","loop":"main","cause":"lock","cpu_ms":1.000,
            "blocked_ms":349.000,"syscall":"futex","major_faults":0,"culprit":"App.run","culprit_confidence":0.900,
            "frames_total":9,"frames":[{"symbol":"lock","symbol_offset":3,"module":"libc.so.6"},
            {"symbol":"inner","file":"/a.swift","line":4,"inlined":true},{"symbol":"App.run","file":"/a.swift","line":9},
            {"pc":"0x5"}],"lock_owner":{"thread_id":8,"thread_name":"worker","frames":[{"symbol":"hold","file":"/b.swift"}]},
            "workers":[{"thread_ids":[7,9]},{"thread_ids":[8],"frames":[{"symbol":"job"}]}]}
            """#
        #expect(
            StallText(try line(json)).paragraph == """
                main was stalled for 350 ms in App.run
                  when: 2026-01-02T03:04:05.000000000Z, for 350 ms, threshold 150 ms, rule callout, end
                  where: app[7], thread app, loop main, host h
                  why: lock: 1 ms computing, 349 ms blocked, in futex
                  culprit: App.run (confidence 0.900)
                #0 lock + 3 in libc.so.6
                #1 inner at /a.swift:4 (inlined)
                #2 App.run at /a.swift:9
                #3 0x5
                   … 6 more, left out of the record
                  lock owner: thread 8 worker
                #0 hold at /b.swift
                  workers: threads 7 9
                  workers: thread 8
                #0 job

                """
        )
    }

    @Test func `an empty record is printed as a paragraph`() throws {
        let text = StallText(try line(#"{"schema":"lagmonitor.stall.v1","event":"stall"}"#)).paragraph
        #expect(text.hasPrefix("a stall\n"))
    }
}
