/// How a V8 lays out its heap and its stack frames: by the constants that it exports for post-mortem debuggers (`v8dbg_…`, made by
/// `tools/gen-postmortem-metadata.py`), and the ``V8Release`` for what they leave out.
struct V8Layout: Sendable {
    /// The constants exist, but are not what this reader expects.
    struct Mismatch: Error { let constant: String }

    /// From a frame pointer to the slots of a JavaScript frame.
    struct FrameSlots: Sendable {
        /// The context of a JavaScript function; in other frames a small number, the frame's type.
        let context: UInt64
        let function: UInt64
        let bytecodeArray: UInt64
        let bytecodeOffset: UInt64
    }

    struct Types: Sendable {
        let functions: ClosedRange<UInt16>
        let shared: UInt16
        let scopeInfo: UInt16
        let script: UInt16
        let bytecodeArray: UInt16
        let code: UInt16
        /// What lies before instructions.
        let stream: UInt16
        let byteArrays: Set<UInt16>
        let fixedArray: UInt16
        /// An array in the trusted space outside the sandbox, as for bytecode's constants (12.4); nil: none.
        let trustedArray: UInt16?
        let deoptimization: UInt16
        let literals: UInt16
        let wrapper: UInt16?
    }

    struct Strings: Sendable {
        let firstNonString: UInt16
        let representationMask: UInt16
        let encodingMask: UInt16
        let oneByte: UInt16
        let sequential, cons, external, sliced, thin: UInt16
        let length: UInt64
        let characters: UInt64
        let first: UInt64
        let second: UInt64
        let parent: UInt64
        let offset: UInt64
        let actual: UInt64
        /// Where an external string keeps the address of its characters: one word after the resource (`ExternalString::kResourceDataOffset`).
        let externalData: UInt64
    }

    let release: V8Release
    let slots: FrameSlots
    let types: Types
    let strings: Strings
    let mapInstanceType: UInt64
    let functionShared: UInt64
    let sharedName, sharedData, sharedScript: UInt64
    let scriptSource, scriptName, scriptLineEnds: UInt64
    let arrayLength, arrayData: UInt64
    let bytecodeData: UInt64
    let scopeLocalCount, scopeFirstVariable: UInt64
    let codeKindMask, baselineKind: UInt32

    /// The amount that is read of a function, and of a `SharedFunctionInfo`: the minimum size. The page after it may not be
    /// mapped.
    var functionBytes: Int { Int(max(functionShared, release.functionCode ?? 0)) + 8 }
    var sharedBytes: Int { Int(max(sharedName, sharedData, sharedScript)) + 8 }

    /// JSFunction and what derives from it, where the constants say only the first: 16 types since 9.6, eleven of them constructors of typed arrays, the last those of
    /// classes (`src/objects/js-function.tq`).
    private static let functionTypeCount: Int32 = 16

    /// - Parameter constant: the value of a constant, by its name without `v8dbg_`.
    init(_ release: V8Release, constant: (String) -> Int32?) throws(Mismatch) {
        func number(_ names: String...) throws(Mismatch) -> Int32 {
            for name in names { if let value = constant(name) { return value } }
            throw Mismatch(constant: names[0])
        }
        func offset(_ names: String...) throws(Mismatch) -> UInt64 {
            for name in names {
                // The largest object that is read has some hundred bytes.
                if let value = constant(name), (0...1024).contains(value) { return UInt64(value) }
            }
            throw Mismatch(constant: names[0])
        }
        func slot(_ name: String) throws(Mismatch) -> UInt64 {
            guard let value = constant(name), (-256...256).contains(value) else { throw Mismatch(constant: name) }
            return UInt64(bitPattern: Int64(value))
        }
        func type(_ name: String) throws(Mismatch) -> UInt16 {
            guard let value = constant("type_" + name).flatMap(UInt16.init(exactly:)) else {
                throw Mismatch(constant: "type_" + name)
            }
            return value
        }
        func word(_ name: String) throws(Mismatch) -> UInt16 {
            guard let value = constant(name).flatMap(UInt16.init(exactly:)) else { throw Mismatch(constant: name) }
            return value
        }
        // Pointer compression, another tagging: another reader.
        let expected: [(String, Int32)] = [
            ("HeapObjectTag", 1), ("HeapObjectTagMask", 3), ("SmiTag", 0), ("SmiTagMask", 1), ("SmiShiftSize", 31),
            ("TaggedSize", 8),
            ("class_HeapObject__map__Map", 0),
        ]
        for (name, value) in expected where constant(name) != value { throw Mismatch(constant: name) }

        self.release = release
        slots = FrameSlots(
            context: try slot("off_fp_context"),
            function: try slot("off_fp_function"),
            bytecodeArray: try slot("off_fp_bytecode_array"),
            bytecodeOffset: try slot("off_fp_bytecode_offset")
        )
        let firstFunction = try type("JSFunction__JS_FUNCTION_TYPE")
        let lastFunction = constant("LastJSFunctionType") ?? Int32(firstFunction) + Self.functionTypeCount - 1
        guard let last = UInt16(exactly: lastFunction), last >= firstFunction else {
            throw Mismatch(constant: "LastJSFunctionType")
        }
        let code = try type("Code__CODE_TYPE")
        var wrapper: UInt16?
        if release.deoptimization.isWrapped { wrapper = try type("SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE") }
        var stream = code
        if let found = release.code.stream { stream = try type(found.type) }
        let deoptimization = release.deoptimization
        types = Types(
            functions: firstFunction...last,
            shared: try type("SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
            scopeInfo: try type("ScopeInfo__SCOPE_INFO_TYPE"),
            script: try type("Script__SCRIPT_TYPE"),
            bytecodeArray: try type("BytecodeArray__BYTECODE_ARRAY_TYPE"),
            code: code,
            stream: stream,
            byteArrays: Set(
                ["ByteArray__BYTE_ARRAY_TYPE", "TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"].compactMap {
                    constant("type_" + $0).flatMap(UInt16.init(exactly:))
                }
            ),
            fixedArray: try type("FixedArray__FIXED_ARRAY_TYPE"),
            trustedArray: constant("type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE").flatMap(UInt16.init(exactly:)),
            deoptimization: try type(deoptimization.arrayType),
            literals: try type(deoptimization.literalsType),
            wrapper: wrapper
        )
        let resource = try offset("class_ExternalString__resource__Object")
        strings = Strings(
            firstNonString: try word("FirstNonstringType"),
            representationMask: try word("StringRepresentationMask"),
            encodingMask: try word("StringEncodingMask"),
            oneByte: try word("OneByteStringTag"),
            sequential: try word("SeqStringTag"),
            cons: try word("ConsStringTag"),
            external: try word("ExternalStringTag"),
            sliced: try word("SlicedStringTag"),
            thin: try word("ThinStringTag"),
            length: try offset("class_String__length__int32_t"),
            characters: try offset("class_SeqOneByteString__chars__char"),
            first: try offset("class_ConsString__first__String"),
            second: try offset("class_ConsString__second__String"),
            parent: try offset("class_SlicedString__parent__String"),
            offset: try offset("class_SlicedString__offset__SMI"),
            actual: try offset("class_ThinString__actual__String"),
            externalData: resource + 8
        )
        mapInstanceType = try offset("class_Map__instance_type__uint16_t")
        functionShared = try offset("class_JSFunction__shared__SharedFunctionInfo")
        sharedName = try offset(
            "class_SharedFunctionInfo__name_or_scope_info__Object",
            "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
            "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"
        )
        // The first field, which 12.4 and 13.6 do not name any more.
        sharedData = (try? offset("class_SharedFunctionInfo__function_data__Object")) ?? 8
        sharedScript = try offset(
            "class_SharedFunctionInfo__script_or_debug_info__HeapObject",
            "class_SharedFunctionInfo__script__Tagged_HeapObject_"
        )
        scriptSource = try offset("class_Script__source__Object")
        scriptName = try offset("class_Script__name__Object")
        scriptLineEnds = try offset("class_Script__line_ends__Object")
        arrayLength = try offset("class_FixedArrayBase__length__SMI")
        arrayData = try offset("class_FixedArray__data__uintptr_t")
        bytecodeData = try offset("class_BytecodeArray__data__uintptr_t")
        // Indices of words after the map.
        scopeLocalCount = try offset("scopeinfo_idx_ncontextlocals")
        scopeFirstVariable = try offset("scopeinfo_idx_first_vars")
        codeKindMask = UInt32(bitPattern: try number("CodeKindFieldMask"))
        baselineKind = UInt32(bitPattern: try number("CodeKindBaseline"))
        guard try number("CodeKindFieldShift") == 0 else { throw Mismatch(constant: "CodeKindFieldShift") }
    }
}
