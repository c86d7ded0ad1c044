/// The layout of HotSpot's structures: from its own tables (``HotSpotStructs``), and for each tested release what they omit.
struct HotSpotLayout: Sendable {
    /// A required row of a table is missing.
    struct Mismatch: Error { let name: String }

    /// Tested releases: those with long-term support.
    static let releases: Set<UInt64> = [11, 17, 21, 25]

    /// The types whose fields are used.
    static let types: Set<String> = [
        "Abstract_VM_Version", "AbstractInterpreter", "CodeBlob", "CodeCache", "CodeHeap", "CompiledMethod", "ConstMethod",
        "ConstantPool",
        "GenericGrowableArray", "GrowableArray<int>", "GrowableArrayBase", "HeapBlock", "HeapBlock::Header", "InstanceKlass",
        "JavaCallWrapper", "JavaFrameAnchor", "JavaThread", "Klass", "Method", "OSThread", "PcDesc", "StubQueue", "StubRoutines",
        "Symbol",
        "Thread", "Threads", "ThreadsList", "ThreadsSMRSupport", "VirtualSpace", "nmethod",
    ]

    /// The code heaps.
    struct Code: Sendable {
        /// The addresses of the list of heaps, of the interpreter, and of the return point of the code that enters Java.
        let heaps, interpreter, entryReturn: UInt64
        let listCount, listData: UInt64
        let heapLow, heapHigh, segments, segmentShift: UInt64
        let blockUsed, blockBytes: UInt64
        let stubBuffer, stubBufferBytes: UInt64
    }

    /// One block of code.
    struct Blob: Sendable {
        let name, frameWords, frameComplete, dataOffset: UInt64
        /// Whether ``begin`` is a distance from the blob, and not an address.
        let isBeginOffset: Bool
        let begin: UInt64
        /// The part of a blob that is read at once.
        let bytes: UInt64
    }

    /// The offsets within the code of a compiled method.
    struct Compiled: Sendable {
        let method, positions, positionsEnd, scopes: UInt64
        /// The location of positions and scopes, if outside the blob itself.
        let immutableData: UInt64?
        /// The referenced methods: a distance from the blob, or from ``mutableData``.
        let methods: UInt64
        let mutableData: UInt64?
        /// Where code continues whose frame must be deoptimised, and where the frame then stores its original place.
        let deoptHandlers: [UInt64]
        /// Whether those are distances from the blob, and not addresses.
        let areDeoptOffsets: Bool
        let originalCode: UInt64
        /// The fields of a row of positions.
        let positionBytes, positionCode, positionScope: UInt64
    }

    struct Method: Sendable {
        let constant, pool, codeBytes, nameIndex, flags, words, codeBegin, maxStack: UInt64
        let hasLines: UInt16
        let poolBegin, holder, holderPool, className: UInt64
        /// The source file's name, in the pool or in the class.
        let fileOfPool, fileOfClass: UInt64?
        let textBytes, text: UInt64
    }

    /// Slots of a frame, relative to its frame pointer, and of what an entry into Java saves for the previous one.
    struct Frames: Sendable {
        let callerStack, method, bytecode: UInt64
        let wrapper, anchor, anchorStack, anchorFrame, anchorCode: UInt64
    }

    /// The JVM's threads.
    struct Threads: Sendable {
        /// An array, which is replaced when a thread starts or ends. Before Java 17 they are linked.
        enum List: Sendable {
            case array(at: UInt64, count: UInt64, items: UInt64)
            case chain(first: UInt64, next: UInt64)
        }

        let list: List
        /// In a thread: its OS thread, in that the thread ID; and where it left Java.
        let system, number, anchor: UInt64
    }

    let code: Code
    let blob: Blob
    let compiled: Compiled
    let threads: Threads
    let method: Method
    let frames: Frames
    /// The value that is subtracted from each byte of a number (``HotSpotNumbers``): 1 from Java 20 on.
    let excluded: UInt32

    /// - Parameter release: one of ``releases``.
    init(_ tables: HotSpotStructs, release: UInt64) throws(Mismatch) {
        func value(_ names: String...) throws(Mismatch) -> UInt64 {
            for name in names { if let value = tables.fields[name] { return value } }
            throw Mismatch(name: names[0])
        }
        // The largest object that is read is a thread, of some 2000 bytes.
        func offset(_ name: String, _ others: String...) throws(Mismatch) -> UInt64 {
            for name in [name] + others { if let value = tables.fields[name], value <= 4096 { return value } }
            throw Mismatch(name: name)
        }
        func size(_ name: String) throws(Mismatch) -> UInt64 {
            guard let value = tables.sizes[name], value <= 1024 else { throw Mismatch(name: name) }
            return value
        }
        func slot(_ name: String, _ further: Int64 = 0) throws(Mismatch) -> UInt64 {
            guard let value = tables.constants[name], (-16...16).contains(value) else { throw Mismatch(name: name) }
            return UInt64(bitPattern: (Int64(value) + further) * 8)
        }
        let (low, high) = (try offset("VirtualSpace::_low"), try offset("VirtualSpace::_high"))
        let memory = try offset("CodeHeap::_memory")
        code = Code(
            heaps: try value("CodeCache::_heaps"),
            interpreter: try value("AbstractInterpreter::_code"),
            entryReturn: try value("StubRoutines::_call_stub_return_address"),
            listCount: try offset("GrowableArrayBase::_len", "GenericGrowableArray::_len"),
            listData: try offset("GrowableArray<int>::_data"),
            heapLow: memory + low,
            heapHigh: memory + high,
            segments: try offset("CodeHeap::_segmap") + low,
            segmentShift: try offset("CodeHeap::_log2_segment_size"),
            blockUsed: try offset("HeapBlock::Header::_used"),
            blockBytes: try size("HeapBlock"),
            stubBuffer: try offset("StubQueue::_stub_buffer"),
            stubBufferBytes: try offset("StubQueue::_buffer_limit")
        )
        let begin = tables.fields["CodeBlob::_code_offset"]
        blob = Blob(
            name: try offset("CodeBlob::_name"),
            frameWords: try offset("CodeBlob::_frame_size"),
            frameComplete: try offset("CodeBlob::_frame_complete_offset"),
            dataOffset: try offset("CodeBlob::_data_offset"),
            isBeginOffset: begin != nil,
            begin: try offset(begin != nil ? "CodeBlob::_code_offset" : "CodeBlob::_code_begin"),
            bytes: try size("nmethod")
        )
        let immutableData = tables.fields["nmethod::_immutable_data"] == nil ? nil : try offset("nmethod::_immutable_data")
        let hasSeparateData = immutableData != nil
        compiled = Compiled(
            method: try offset("CompiledMethod::_method", "nmethod::_method"),
            positions: try offset("nmethod::_scopes_pcs_offset"),
            positionsEnd: try offset(hasSeparateData ? "nmethod::_scopes_data_offset" : "nmethod::_dependencies_offset"),
            scopes: try offset(hasSeparateData ? "nmethod::_scopes_data_offset" : "CompiledMethod::_scopes_data_begin"),
            immutableData: immutableData,
            methods: try offset(hasSeparateData ? "CodeBlob::_relocation_size" : "nmethod::_metadata_offset"),
            mutableData: hasSeparateData ? try offset("CodeBlob::_mutable_data") : nil,
            deoptHandlers: hasSeparateData
                ? [try offset("nmethod::_deopt_handler_offset"), try offset("nmethod::_deopt_mh_handler_offset")]
                : [try offset("CompiledMethod::_deopt_handler_begin"), try offset("CompiledMethod::_deopt_mh_handler_begin")],
            areDeoptOffsets: hasSeparateData,
            originalCode: try offset("nmethod::_orig_pc_offset"),
            positionBytes: try size("PcDesc"),
            positionCode: try offset("PcDesc::_pc_offset"),
            positionScope: try offset("PcDesc::_scope_decode_offset")
        )
        let hasLines = ["ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table"].compactMap {
            tables.constants[$0]
        }
        guard let flag = hasLines.first.flatMap(UInt16.init(exactly:)) else {
            throw Mismatch(name: "ConstMethod::_has_linenumber_table")
        }
        method = Method(
            constant: try offset("Method::_constMethod"),
            pool: try offset("ConstMethod::_constants"),
            codeBytes: try offset("ConstMethod::_code_size"),
            nameIndex: try offset("ConstMethod::_name_index"),
            flags: try offset("ConstMethod::_flags", "ConstMethod::_flags._flags"),
            words: try offset("ConstMethod::_constMethod_size"),
            codeBegin: try size("ConstMethod"),
            maxStack: try offset("ConstMethod::_max_stack"),
            hasLines: flag,
            poolBegin: try size("ConstantPool"),
            holder: try offset("ConstantPool::_pool_holder"),
            holderPool: try offset("InstanceKlass::_constants"),
            className: try offset("Klass::_name"),
            fileOfPool: tables.fields["ConstantPool::_source_file_name_index"],
            fileOfClass: tables.fields["InstanceKlass::_source_file_name_index"],
            textBytes: try offset("Symbol::_length"),
            text: try offset("Symbol::_body[0]")
        )
        let list: Threads.List =
            if let array = tables.fields["ThreadsSMRSupport::_java_thread_list"] {
                .array(at: array, count: try offset("ThreadsList::_length"), items: try offset("ThreadsList::_threads"))
            } else {
                .chain(first: try value("Threads::_thread_list"), next: try offset("JavaThread::_next"))
            }
        threads = Threads(
            list: list,
            system: try offset("JavaThread::_osthread", "Thread::_osthread"),
            number: try offset("OSThread::_thread_id"),
            anchor: try offset("JavaThread::_anchor")
        )
        excluded = release >= 20 ? 1 : 0
        // The slots below have this order in every release (`frame_x86.hpp`).
        let last = "frame::interpreter_frame_last_sp_offset"
        frames = Frames(
            callerStack: try slot("frame::interpreter_frame_sender_sp_offset"),
            method: try slot(last, -1),
            bytecode: try slot(last, -6),
            wrapper: try slot("frame::entry_frame_call_wrapper_offset"),
            anchor: try offset("JavaCallWrapper::_anchor"),
            anchorStack: try offset("JavaFrameAnchor::_last_Java_sp"),
            anchorFrame: try offset("JavaFrameAnchor::_last_Java_fp"),
            anchorCode: try offset("JavaFrameAnchor::_last_Java_pc")
        )
    }
}
