@testable internal import LagRemote

/// The post-mortem constants of node 20 (V8 11.3) that the reader needs.
enum V8Constants {
    static let node20: [String: Int32] = [
        "HeapObjectTag": 1, "HeapObjectTagMask": 3, "SmiTag": 0, "SmiTagMask": 1, "SmiShiftSize": 31, "TaggedSize": 8,
        "class_HeapObject__map__Map": 0, "class_Map__instance_type__uint16_t": 12,
        "off_fp_context": -8, "off_fp_function": -16, "off_fp_bytecode_array": -32, "off_fp_bytecode_offset": -40,
        "type_JSFunction__JS_FUNCTION_TYPE": 2066, "type_Code__CODE_TYPE": 245,
        "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE": 262, "type_ScopeInfo__SCOPE_INFO_TYPE": 261,
        "type_Script__SCRIPT_TYPE": 167, "type_BytecodeArray__BYTECODE_ARRAY_TYPE": 191,
        "type_InstructionStream__INSTRUCTION_STREAM_TYPE": 252, "type_ByteArray__BYTE_ARRAY_TYPE": 190,
        "type_FixedArray__FIXED_ARRAY_TYPE": 175, "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE": 240,
        "FirstNonstringType": 128, "StringRepresentationMask": 7, "StringEncodingMask": 8, "OneByteStringTag": 8,
        "SeqStringTag": 0, "ConsStringTag": 1, "ExternalStringTag": 2, "SlicedStringTag": 3, "ThinStringTag": 5,
        "class_String__length__int32_t": 12, "class_SeqOneByteString__chars__char": 16, "class_ConsString__first__String": 16,
        "class_ConsString__second__String": 24, "class_SlicedString__parent__String": 16, "class_SlicedString__offset__SMI": 24,
        "class_ThinString__actual__String": 16, "class_ExternalString__resource__Object": 16,
        "class_JSFunction__shared__SharedFunctionInfo": 24, "class_SharedFunctionInfo__name_or_scope_info__Object": 16,
        "class_SharedFunctionInfo__function_data__Object": 8, "class_SharedFunctionInfo__script_or_debug_info__HeapObject": 32,
        "class_Script__source__Object": 8, "class_Script__name__Object": 16, "class_Script__line_ends__Object": 56,
        "class_FixedArrayBase__length__SMI": 8, "class_FixedArray__data__uintptr_t": 16,
        "class_BytecodeArray__data__uintptr_t": 54,
        "scopeinfo_idx_ncontextlocals": 2, "scopeinfo_idx_first_vars": 3,
        "CodeKindFieldMask": 15, "CodeKindFieldShift": 0, "CodeKindBaseline": 11,
    ]

    static func layout(_ constants: [String: Int32] = node20) throws -> V8Layout {
        try V8Layout(V8Release.known[1]) { constants[$0] }
    }
}
