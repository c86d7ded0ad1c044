internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// HotSpot's formats, and reading memory with arbitrary pointers.
struct HotSpotTests {
    /// The first and last number of each length, by the formula in `unsigned5.hpp`.
    @Test(
        arguments: [
            (0, [0x01]), (1, [0x02]), (190, [0xbf]), (191, [0xc0, 0x01]), (192, [0xc1, 0x01]), (12_414, [0xff, 0xbf]),
            (12_415, [0xc0, 0xc0, 0x01]),
        ] as [(UInt32, [UInt8])]
    ) func `compressed numbers have one to five bytes`(value: UInt32, bytes: [UInt8]) {
        var numbers = HotSpotNumbers(bytes, excluded: 1)
        #expect(numbers.unsigned() == value && numbers.byte() == nil)
    }

    @Test func `before Java 20 compressed numbers may contain zero bytes`() {
        var numbers = HotSpotNumbers([0x00, 0xbf, 0xc0, 0x00, 0x03, 0x04], excluded: 0)
        #expect(numbers.unsigned() == 0 && numbers.unsigned() == 191 && numbers.unsigned() == 192)
        #expect(numbers.signed() == -2 && numbers.signed() == 2 && numbers.signed() == nil)
    }

    @Test(arguments: [
        ("com/example/Shop", "com.example.Shop.price", false, "com/example/"), ("Shop$Cart", "Shop$Cart.price", false, ""),
        ("Shop$$Lambda$14+0x0000000800c03000", "Shop$$Lambda.price", true, ""),
        ("Shop$$Lambda+0x00007f1c", "Shop$$Lambda.price", true, ""),
        ("java/util/HashMap", "java.util.HashMap.price", true, "java/util/"),
        ("io/netty/channel/Channel", "io.netty.channel.Channel.price", true, "io/netty/channel/"),
        ("shop/A+B", "shop.A+B.price", false, "shop/"), ("javascript/Engine", "javascript.Engine.price", false, "javascript/"),
    ]) func `a method is named as in Java stack traces`(className: String, text: String, isLibrary: Bool, folder: String) {
        let name = JavaName(className: className, method: "price")
        #expect(name.text == text && name.isLibrary == isLibrary && name.folder == folder)
    }

    @Test func `a virtual machine that does not export a required field has no layout`() throws {
        // If it is absent, the value is stored elsewhere, or there is no file name.
        let optional: Set = ["ConstantPool::_source_file_name_index"]
        for release in HotSpotLayout.releases {
            let tables = Self.tables(hasSeparateData: release >= 25, hasArray: release >= 17)
            _ = try HotSpotLayout(tables, release: release)
            for name in tables.fields.keys where !optional.contains(name) {
                var less = tables
                less.fields[name] = nil
                #expect(throws: HotSpotLayout.Mismatch.self, "\(name)") { try HotSpotLayout(less, release: release) }
                guard !Self.statics.contains(name) else { continue }
                for value in [1 << 20, .max] as [UInt64] {
                    less.fields[name] = value
                    #expect(throws: HotSpotLayout.Mismatch.self, "\(name)") { try HotSpotLayout(less, release: release) }
                }
            }
            for name in tables.sizes.keys {
                var large = tables
                large.sizes[name] = .max
                #expect(throws: HotSpotLayout.Mismatch.self, "\(name)") { try HotSpotLayout(large, release: release) }
            }
            for name in tables.constants.keys {
                var large = tables
                large.constants[name] = .max
                #expect(throws: HotSpotLayout.Mismatch.self, "\(name)") { try HotSpotLayout(large, release: release) }
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `walking Java stacks in random memory terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let memory = RemoteMemory(process: getpid())
        let copy = try #require(MemoryCopy(process: getpid()))
        let clock = ContinuousClock()
        for hasSeparateData in [false, true] {
            let layout = try HotSpotLayout(
                Self.tables(hasSeparateData: hasSeparateData, in: wild),
                release: hasSeparateData ? 25 : 17
            )
            let code = try Self.code(wild, layout)
            for _ in 0..<50 {
                copy.open(nil, within: 1_000_000_000)
                let walker = HotSpotStack(live: memory, layout: layout, code: code, stack: copy, bytecode: wild.anyAddress)
                let begun = clock.now
                let place = HotSpotStack.Place(
                    programCounter: wild.anyAddress,
                    stackPointer: wild.anyAddress,
                    framePointer: wild.anyAddress,
                    isReturnAddress: seed % 2 == 0
                )
                #expect(walker.walk(from: place)?.frames.count ?? 0 <= 512 * 64)
                #expect(clock.now - begun < .seconds(2))
                copy.close(nil)
                _ = HotSpotMethod(memory, layout, at: wild.anyAddress)?.name(at: 3)
            }
        }
    }

    @Test(arguments: [false, true]) func `a thread ID belongs to one Java thread`(hasArray: Bool) throws {
        let wild = WildMemory(seed: 1)
        let tables = Self.tables(hasSeparateData: false, hasArray: hasArray, in: wild)
        let layout = try HotSpotLayout(tables, release: hasArray ? 17 : 11).threads
        let (list, items, threads, systems) = (4096, 4608, [8192, 12288], [16384, 20480])
        wild.store(wild.address(hasArray ? list : threads[0]), at: 3 * 8)
        wild.store(2 << 32, at: list)
        wild.store(wild.address(items), at: list + 16)
        for (index, thread) in threads.enumerated() {
            wild.store(wild.address(thread), at: items + index * 8)
            wild.store(index == 0 ? wild.address(threads[1]) : 0, at: thread + 784)
            wild.store(wild.address(systems[index]), at: thread + 560)
            wild.store(UInt64(4711 + index), at: systems[index] + 208)
        }
        let found = HotSpotThreads(RemoteMemory(process: getpid()), layout)
        #expect(found.thread(4711) == wild.address(threads[0]) && found.thread(4712) == wild.address(threads[1]))
        #expect(found.thread(4713) == nil)
        // The thread exited, so there is another list, and another thread has its ID.
        wild.store(1 << 32, at: list)
        wild.store(0, at: threads[0] + 784)
        wild.store(4712, at: systems[0] + 208)
        wild.store(0, at: threads[1] + 560)
        #expect(found.thread(4712) == wild.address(threads[0]) && found.thread(4711) == nil)
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func `searching Java threads in random memory terminates`(seed: UInt64) throws {
        for hasArray in [false, true] {
            let wild = WildMemory(seed: seed)
            let tables = Self.tables(hasSeparateData: false, hasArray: hasArray, in: wild)
            let layout = try HotSpotLayout(tables, release: hasArray ? 17 : 11).threads
            let found = HotSpotThreads(RemoteMemory(process: getpid()), layout)
            for _ in 0..<20 {
                wild.store(wild.anyAddress, at: 3 * 8)
                _ = found.thread(77)
            }
        }
    }

    @Test func `the thread records where Java code was left, or the return address shows it`() throws {
        let wild = WildMemory(seed: 1)
        let layout = try HotSpotLayout(Self.tables(hasSeparateData: false, in: wild), release: 17)
        let code = try Self.code(wild, layout)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 1_000_000_000)
        let walker = HotSpotStack(live: RemoteMemory(process: getpid()), layout: layout, code: code, stack: copy)
        let (anchor, stack) = (32768, 40960)
        for (offset, word) in [0, wild.address(0) + 99, wild.address(7)].enumerated() {
            wild.store(word, at: anchor + offset * 8)
        }
        #expect(walker.left(at: wild.address(anchor)) == nil)
        copy.open(nil, within: 1_000_000_000)
        wild.store(wild.address(stack), at: anchor)
        let left = try #require(walker.left(at: wild.address(anchor)))
        #expect(left.stackPointer == wild.address(stack) && left.programCounter == wild.address(0) + 99)
        #expect(left.framePointer == wild.address(7) && left.isReturnAddress)
        copy.open(nil, within: 1_000_000_000)
        wild.store(0, at: anchor + 8)
        wild.store(0x1234, at: stack - 8)
        #expect(walker.left(at: wild.address(anchor))?.programCounter == 0x1234)
    }

    private static let statics = [
        "CodeCache::_heaps", "AbstractInterpreter::_code", "StubRoutines::_call_stub_return_address",
        "ThreadsSMRSupport::_java_thread_list", "Threads::_thread_list",
    ]

    /// A list of one heap that spans the whole memory; its segment table is in it, too.
    private static func code(_ wild: WildMemory, _ layout: HotSpotLayout) throws -> HotSpotCode {
        let list = 8192
        wild.store(wild.address(list), at: 0)
        wild.store(1, at: list)
        wild.store(wild.address(list + 64), at: list + 8)
        wild.store(wild.address(list + 128), at: list + 64)
        wild.store(wild.address(0), at: list + 128 + 24)
        wild.store(wild.address(WildMemory.bytes - 8), at: list + 128 + 32)
        wild.store(wild.address(1 << 16), at: list + 128 + 136)
        wild.store(7, at: list + 128 + 256)
        wild.store(wild.address(list + 512), at: 8)
        return try #require(HotSpotCode(RemoteMemory(process: getpid()), layout))
    }

    /// Invented offsets, 8 bytes per field.
    private static func tables(hasSeparateData: Bool, hasArray: Bool = true, in wild: WildMemory? = nil) -> HotSpotStructs {
        var tables = HotSpotStructs()
        for (index, name) in statics.dropLast(2).enumerated() {
            tables.fields[name] = wild?.address(index * 8) ?? UInt64(index * 8 + 4096)
        }
        tables.fields[statics[hasArray ? 3 : 4]] = wild?.address(3 * 8) ?? 8192
        var names = [
            "VirtualSpace::_low": 16, "VirtualSpace::_high": 24, "CodeHeap::_memory": 8, "CodeHeap::_segmap": 120,
            "CodeHeap::_log2_segment_size": 256,
            "GrowableArrayBase::_len": 0, "GrowableArray<int>::_data": 8, "HeapBlock::Header::_used": 8,
            "StubQueue::_stub_buffer": 8,
            "StubQueue::_buffer_limit": 20, "CodeBlob::_name": 96, "CodeBlob::_frame_size": 28,
            "CodeBlob::_frame_complete_offset": 20,
            "CodeBlob::_data_offset": 24, "nmethod::_scopes_pcs_offset": 268, "PcDesc::_pc_offset": 0,
            "PcDesc::_scope_decode_offset": 4,
            "nmethod::_orig_pc_offset": 300, "Method::_constMethod": 8, "ConstMethod::_constants": 8,
            "ConstMethod::_code_size": 32,
            "ConstMethod::_name_index": 34, "ConstMethod::_flags": 28, "ConstMethod::_constMethod_size": 24,
            "ConstMethod::_max_stack": 40,
            "ConstantPool::_pool_holder": 24,
            "InstanceKlass::_constants": 232, "Klass::_name": 24, "ConstantPool::_source_file_name_index": 54,
            "Symbol::_length": 4,
            "Symbol::_body[0]": 6, "JavaCallWrapper::_anchor": 32, "JavaFrameAnchor::_last_Java_sp": 0,
            "JavaFrameAnchor::_last_Java_pc": 8,
            "JavaFrameAnchor::_last_Java_fp": 16, "JavaThread::_osthread": 560, "JavaThread::_anchor": 656,
            "OSThread::_thread_id": 208,
        ]
        names.merge(hasArray ? ["ThreadsList::_length": 4, "ThreadsList::_threads": 16] : ["JavaThread::_next": 784]) { $1 }
        let further =
            hasSeparateData
            ? [
                "CodeBlob::_code_offset": 36, "nmethod::_method": 80, "nmethod::_scopes_data_offset": 200,
                "nmethod::_immutable_data": 96,
                "CodeBlob::_relocation_size": 28, "CodeBlob::_mutable_data": 16, "nmethod::_deopt_handler_offset": 176,
                "nmethod::_deopt_mh_handler_offset": 180,
            ]
            : [
                "CodeBlob::_code_begin": 32, "CompiledMethod::_method": 112, "CompiledMethod::_scopes_data_begin": 120,
                "nmethod::_dependencies_offset": 272,
                "nmethod::_metadata_offset": 260, "CompiledMethod::_deopt_handler_begin": 128,
                "CompiledMethod::_deopt_mh_handler_begin": 136,
            ]
        names.merge(further) { $1 }
        for (name, offset) in names { tables.fields[name] = UInt64(offset) }
        tables.sizes = ["HeapBlock": 16, "nmethod": 352, "PcDesc": 16, "ConstMethod": 48, "ConstantPool": 72]
        tables.constants = [
            "ConstMethod::_has_linenumber_table": 1, "frame::interpreter_frame_sender_sp_offset": -1,
            "frame::interpreter_frame_last_sp_offset": -2,
            "frame::entry_frame_call_wrapper_offset": -6,
        ]
        return tables
    }
}
