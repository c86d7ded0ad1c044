internal import CLagLinux
internal import LagCapture

/// The chain of asyncio tasks that wait for a task: those that are called back when it is done.
///
/// A task that awaits another one registers its own wake-up there, a bound C method. asyncio's intermediate callbacks are
/// recognised by their names:
/// `gather`, `shield`, `wait` and `wait_for` call a function that sets a future of their own, whose callback is that wake-up; a `TaskGroup` calls a method,
/// and has the task in which it was entered. A callback of the program can be bound to any task: a task counts as an awaiter only
/// if its own data shows that it waits for this future (`task_fut_waiter`).
///
/// Read while the thread may continue, and so only valid if its task was still in a step afterwards: its callbacks change when it
/// is done. The watchdog; some 20 reads for each awaiter, and never more than a limit for all together.
///
/// Source: CPython 3.11.2, 3.12.1 and 3.13.0, Modules/_asynciomodule.c (`FutureObj`), Modules/_functoolsmodule.c (`partialobject`), Include/cpython/funcobject.h,
/// methodobject.h, classobject.h, cellobject.h and genobject.h; Lib/asyncio/tasks.py and taskgroups.py.
struct PythonAwaiters {
    private enum Limit {
        static let awaiters = Int(CLL_TASK_AWAITERS)
        static let futures = 3
        static let callbacks: UInt64 = 4
        static let cells: UInt64 = 12
        static let attributes = 16
        static let nameBytes = 48
        static let reads = 250
    }

    /// Fields of objects.
    private enum Field {
        /// `fut_callback0`, and the list of pairs with the others.
        static let (callback, callbacks): (UInt64, UInt64) = (24, 40)
        static let listItems: UInt64 = 24
        /// `m_self`, `im_func`, `im_self`.
        static let (methodInC, method, methodSelf): (UInt64, UInt64, UInt64) = (24, 16, 24)
        static let (functionName, closure): (UInt64, UInt64) = (40, 72)
        static let cell: UInt64 = 16
        static let (partialFunction, partialArguments): (UInt64, UInt64) = (16, 24)
        static let typeName: UInt64 = 24
        /// `gi_frame_state`, before the frame.
        static let frameState: UInt64 = 5
        static let executing: Int8 = 0
    }

    /// Functions of asyncio in whose variables the future of the one that waits is.
    private static let functions: Set<String> = [
        "gather.<locals>._done_callback", "shield.<locals>._inner_done_callback", "_wait.<locals>._on_completion",
    ]

    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let types: PythonTask.Types
    private let found: PythonTask.Found
    private var readsLeft = Limit.reads

    init(_ memory: RemoteMemory, _ layout: PythonLayout, _ types: PythonTask.Types, of found: PythonTask.Found) {
        self.memory = memory
        self.layout = layout
        self.types = types
        self.found = found
    }

    /// Their names, the nearest first, up to the first without a name.
    mutating func names() -> [String] {
        var (task, seen, names): (UInt64, [UInt64], [String]) = (found.task.address, [found.task.address], [])
        while names.count < Limit.awaiters, let next = awaiter(of: task, futures: 0), !seen.contains(next),
            let named = word(next &+ found.field &+ 8),
            let name = PythonTask.name(named, layout, types, { memory.bytes($0, $1) })
        {
            (task, names) = (next, names + [name])
            seen.append(next)
        }
        let state: Int8? = memory.load(found.coroutine &+ layout.generatorFrame &- Field.frameState)
        let isSame = word(found.task.address &+ found.field) == found.coroutine && state == Field.executing
        return isSame ? names : []
    }

    private mutating func word(_ address: UInt64) -> UInt64? {
        guard readsLeft > 0 else { return nil }
        readsLeft -= 1
        return memory.load(address)
    }

    private mutating func bytes(_ address: UInt64, _ count: Int) -> [UInt8]? {
        guard readsLeft > 0 else { return nil }
        readsLeft -= 1
        return memory.bytes(address, count)
    }

    private mutating func awaiter(of future: UInt64, futures: Int) -> UInt64? {
        guard futures < Limit.futures else { return nil }
        for callback in callbacks(of: future) {
            if let found = awaiter(calledBackBy: callback, of: future, futures: futures) { return found }
        }
        return nil
    }

    /// What a task waits for; nil: not a task, or it waits for nothing.
    private mutating func waits(_ task: UInt64) -> UInt64? { isTask(task) ? word(task &+ found.field &- 8) : nil }

    private mutating func callbacks(of future: UInt64) -> [UInt64] {
        var found: [UInt64] = []
        if let first = word(future &+ Field.callback), first != 0 { found.append(first) }
        guard let list = word(future &+ Field.callbacks), list != 0, typeName(of: list) == "list",
            let count = word(list &+ PythonLayout.size), let items = word(list &+ Field.listItems)
        else { return found }
        for index in 0..<min(count, Limit.callbacks) {
            guard let pair = word(items &+ index &* 8), let first = self.items(of: pair, 1).first else { break }
            found.append(first)
        }
        return found
    }

    private mutating func awaiter(calledBackBy callback: UInt64, of future: UInt64, futures: Int) -> UInt64? {
        switch typeName(of: callback) {
        case "builtin_function_or_method":
            guard let task = word(callback &+ Field.methodInC), waits(task) == future else { return nil }
            return task
        case "function":
            guard let name = functionName(callback), Self.functions.contains(name),
                let closure = word(callback &+ Field.closure)
            else { return nil }
            for cell in items(of: closure, Limit.cells) {
                // There is one.
                if let content = word(cell &+ Field.cell), isFuture(content) { return awaiter(of: content, futures: futures + 1) }
            }
            return nil
        case "functools.partial":
            guard let function = word(callback &+ Field.partialFunction),
                functionName(function) == "_release_waiter",
                let arguments = word(callback &+ Field.partialArguments),
                let waiter = items(of: arguments, 1).first, isFuture(waiter)
            else { return nil }
            return awaiter(of: waiter, futures: futures + 1)
        case "method":
            guard let function = word(callback &+ Field.method),
                functionName(function) == "TaskGroup._on_task_done",
                let group = word(callback &+ Field.methodSelf)
            else { return nil }
            // Its task may still be within the group, and wait for something else.
            let values = attributes(of: group)
            for value in values {
                if let future = waits(value) { return future != 0 && values.contains(future) ? value : nil }
            }
            return nil
        default: return nil
        }
    }

    /// Of a `tuple`.
    private mutating func items(of tuple: UInt64, _ limit: UInt64) -> [UInt64] {
        guard tuple != 0, typeName(of: tuple) == "tuple", let count = word(tuple &+ PythonLayout.size),
            let bytes = bytes(tuple &+ PythonLayout.tupleItems, Int(min(count, limit)) * 8)
        else { return [] }
        return (0..<bytes.count / 8).compactMap { bytes.number(at: $0 * 8) }
    }

    /// The values of an object's first attributes, where it has no dictionary.
    private mutating func attributes(of object: UInt64) -> [UInt64] {
        let values: UInt64?
        switch layout.attributes {
        case nil: values = nil
        case .pointer(let distance): values = word(object &- distance)
        case .taggedPointer(let distance):
            values = word(object &- distance).flatMap { $0 & 1 == 1 ? $0 &+ 1 : nil }
        case .inline(let offset): values = object &+ offset
        }
        guard let values, let bytes = bytes(values, Limit.attributes * 8) else { return [] }
        return (0..<Limit.attributes).compactMap { bytes.number(at: $0 * 8) }
    }

    private mutating func isTask(_ object: UInt64) -> Bool {
        object != 0 && found.type != 0 && word(object &+ PythonLayout.type) == found.type
    }

    private mutating func isFuture(_ object: UInt64) -> Bool {
        ["_asyncio.Future", "_GatheringFuture"].contains(typeName(of: object))
    }

    private mutating func functionName(_ function: UInt64) -> String? {
        guard typeName(of: function) == "function", let name = word(function &+ Field.functionName) else { return nil }
        return PythonText(memory: memory, layout: layout).string(name, limit: UInt64(Limit.nameBytes))
    }

    private mutating func typeName(of object: UInt64) -> String? {
        guard object != 0, let type = word(object &+ PythonLayout.type), let name = word(type &+ Field.typeName) else {
            return nil
        }
        return memory.text(name, limit: Limit.nameBytes)
    }
}
