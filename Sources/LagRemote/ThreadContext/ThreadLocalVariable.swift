/// Locates a module's exported thread-local variable in each thread: x86-64 with glibc.
///
/// For the program itself, the location follows from its header. For a library, the dynamic linker decides, and writes it where
/// the library's own code reads it: at the target of a relocation of the variable. That is read again each time, because it may
/// be written late.
///
/// Formats: System V ABI (x86-64 psABI), "ELF Handling For Thread-Local Storage", variant II; for TLS descriptors and the vector, glibc's
/// `sysdeps/x86_64/dl-tlsdesc.h` and `sysdeps/generic/dl-dtv.h`.
struct ThreadLocalVariable: Sendable, Equatable {
    /// The forms that the linker writes.
    private enum Slot: Sendable, Equatable {
        /// The distance from the thread pointer.
        case distance
        /// A function and its argument: the distance, or the address of module and offset.
        case descriptor
        /// The module's number.
        case module
    }

    /// The location in one state of the linker.
    enum Place: Sendable, Equatable {
        case fixed(distance: Int64)
        /// In the thread's vector of modules.
        case dynamic(module: UInt64, offset: UInt64, generation: UInt64)
    }

    private enum Relocation {
        static let module: UInt32 = 16
        static let distance: UInt32 = 18
        static let descriptor: UInt32 = 36
        static let bytes = 24
    }

    private static let maximumModules: UInt64 = 65_536
    /// The maximum of relocations to search in a process: all its libraries may export such a variable without referring to it.
    static let maximumRelocations = 1 << 18
    private static let relocationsAtOnce = 4096

    private let own: Int64?
    private let slot: Slot
    private let address: UInt64
    private let offset: UInt64

    /// Nil if the module exports no such variable, or it cannot be located.
    init?(_ name: String, in module: ProcessImage.Module, isProgram: Bool, _ memory: RemoteMemory, relocations left: inout Int) {
        guard let symbols = module.symbols, let symbol = symbols.threadLocal(name), let storage = symbols.threadStorage,
            symbol.offset <= storage.bytes, storage.bytes - symbol.offset >= 8
        else { return nil }
        offset = symbol.offset
        if isProgram {
            // Below the thread pointer, as close as its alignment allows.
            let bytes = storage.bytes &+ (0 &- storage.address &- storage.bytes) & (storage.alignment - 1)
            (own, slot, address) = (Int64(bitPattern: symbol.offset &- bytes), .distance, 0)
            return
        }
        guard let found = Self.find(symbol, symbols, memory, &left) else { return nil }
        (own, slot, address) = (nil, found.0, found.1)
    }

    private static func find(
        _ symbol: DynamicSymbols.ThreadLocal,
        _ symbols: DynamicSymbols,
        _ memory: RemoteMemory,
        _ left: inout Int
    ) -> (Slot, UInt64)? {
        for table in symbols.relocations {
            var at = 0
            let count = min(table.count, left)
            left -= count
            while at < count {
                let some = min(relocationsAtOnce, count - at)
                let begin = table.address &+ UInt64(at * Relocation.bytes)
                guard let bytes = memory.bytes(begin, some * Relocation.bytes) else { break }
                if let found = find(symbol, bytes, symbols.bias) { return found }
                at += some
            }
        }
        return nil
    }

    private static func find(_ symbol: DynamicSymbols.ThreadLocal, _ bytes: [UInt8], _ bias: UInt64) -> (Slot, UInt64)? {
        for base in stride(from: 0, to: bytes.count, by: Relocation.bytes) {
            guard let type: UInt32 = bytes.number(at: base + 8), let index: UInt32 = bytes.number(at: base + 12),
                let place: UInt64 = bytes.number(at: base), let addend: UInt64 = bytes.number(at: base + 16)
            else { return nil }
            // Without a symbol: within the library the offset is in the relocation.
            let isNamed = index == symbol.index
            let isOwn = index == 0 && addend == symbol.offset
            switch type {
            // For any variable of the library.
            case Relocation.module where isNamed || index == 0: return (.module, bias &+ place)
            case Relocation.distance where isNamed || isOwn: return (.distance, bias &+ place)
            case Relocation.descriptor where isNamed || isOwn: return (.descriptor, bias &+ place)
            default: break
            }
        }
        return nil
    }

    /// Its location in the linker's current state; nil: not yet known to the linker.
    func place(_ memory: RemoteMemory) -> Place? {
        if let own { return .fixed(distance: own) }
        switch slot {
        case .distance: return memory.load(address, as: UInt64.self).flatMap(Self.fixed)
        case .module:
            guard let module: UInt64 = memory.load(address) else { return nil }
            return Self.dynamic(module: module, offset: offset, generation: 0)
        case .descriptor:
            guard let argument: UInt64 = memory.load(address &+ 8) else { return nil }
            if let fixed = Self.fixed(argument) { return fixed }
            guard let words = memory.bytes(argument, 24), words.number(at: 8, as: UInt64.self) == offset else { return nil }
            return Self.dynamic(module: words.number(at: 0) ?? 0, offset: offset, generation: words.number(at: 16) ?? 0)
        }
    }

    /// Static storage is below the thread pointer.
    private static func fixed(_ word: UInt64) -> Place? {
        let distance = Int64(bitPattern: word)
        return distance < 0 && distance > -(1 << 32) ? .fixed(distance: distance) : nil
    }

    private static func dynamic(module: UInt64, offset: UInt64, generation: UInt64) -> Place? {
        guard module > 0, module < maximumModules else { return nil }
        return .dynamic(module: module, offset: offset, generation: generation)
    }
}

extension ThreadLocalVariable.Place {
    private enum Vector {
        static let entryBytes: UInt64 = 16
        /// In the thread control block.
        static let pointer: UInt64 = 8
        static let unallocated = UInt64.max
    }

    /// Its address in the thread with that thread pointer; nil: none in that thread. At most four reads.
    func address(_ threadPointer: UInt64, _ load: (UInt64) -> UInt64?) -> UInt64? {
        switch self {
        case .fixed(let distance): return threadPointer &+ UInt64(bitPattern: distance)
        case .dynamic(let module, let offset, let generation):
            // Its first entry is the generation; the count precedes it.
            guard let vector = load(threadPointer &+ Vector.pointer), let known = load(vector), known >= generation,
                let count = load(vector &- Vector.entryBytes), module <= count,
                let block = load(vector &+ module &* Vector.entryBytes), block != 0, block != Vector.unallocated
            else { return nil }
            return block &+ offset
        }
    }
}
