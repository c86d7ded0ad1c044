internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Python programs whose first thread is in an asyncio task, or in another callback of its loop.
struct PythonTaskTests {
    private static let program = """
        import asyncio, sys, time

        def block():
            if "sleep" in sys.argv:
                time.sleep(600)
            while True:
                sum(range(1000))

        async def price():
            print("ready", flush=True)
            block()

        async def checkout():
            await asyncio.sleep(0.01)
            await price()

        def numbers():
            print("ready", flush=True)
            block()
            yield 1

        async def main():
            if "callback" in sys.argv:
                asyncio.get_running_loop().call_later(0.01, lambda: list(numbers()))
                await asyncio.sleep(600)
            name = "checkout-\\u00f6" if "named" in sys.argv else "n" * 300 if "long" in sys.argv else None
            await asyncio.create_task(checkout(), name=name)

        asyncio.run(main())
        """

    private static func cases(_ modes: [String]) -> [(String, [String])] {
        PythonLockTests.interpreters.flatMap { interpreter in
            modes.flatMap { mode in ["sleep", "compute"].map { (interpreter, [mode, $0]) } }
        }
    }

    /// The name of the task in a capture; nil if no capture had a task.
    /// - Parameter most: the maximum number of captures; nil: until there is a task. (While a thread is stopped, there is not
    ///   always time to read it.)
    private func name(_ interpreter: String, _ arguments: [String], most: Int? = nil) throws -> String? {
        let process = try InterpretedProcess(interpreter, Self.program, file: "shop.py", arguments)
        var found: String?
        var captured = 0
        _ = eventually {
            let outcome = process.take()
            if outcome.stored > 0 { captured += 1 }
            found = process.capture.task?.pointee.nameText
            return found != nil || captured == most
        }
        #expect(captured > 0)
        return found
    }

    @Test(arguments: cases(["named"])) func `the running task is reported with its name`(
        interpreter: String,
        _ arguments: [String]
    )
        throws
    {
        #expect(try name(interpreter, arguments) == "checkout-\u{f6}")
    }

    @Test(arguments: cases(["unnamed"])) func `a task without a name has the default name of asyncio`(
        interpreter: String,
        _ arguments: [String]
    )
        throws
    {
        #expect(try name(interpreter, arguments)?.hasPrefix("Task-") == true)
    }

    @Test(arguments: cases(["callback"])) func `a callback of the loop is not reported as a task`(
        interpreter: String,
        _ arguments: [String]
    )
        throws
    {
        #expect(try name(interpreter, arguments, most: 20) == nil)
    }

    /// In each case a task `price` for which another task waits, for which in turn the first task waits.
    private static let waits = """
        import asyncio, sys, time

        async def price():
            await asyncio.sleep(0.01)
            print("ready", flush=True)
            if "sleep" in sys.argv:
                time.sleep(600)
            while True:
                sum(range(1000))

        async def other():
            await asyncio.sleep(600)

        async def checkout():
            price_task = asyncio.create_task(price(), name="price")
            match sys.argv[1]:
                case "await": await price_task
                case "gather": await asyncio.gather(other(), price_task)
                case "shield": await asyncio.shield(price_task)
                case "wait": await asyncio.wait([price_task, asyncio.create_task(other())])
                case "wait_for": await asyncio.wait_for(price_task, 600)
                case "group":
                    async with asyncio.TaskGroup() as group:
                        price_task.cancel()
                        group.create_task(other())
                        group.create_task(price(), name="price")
                case "callback":
                    future = asyncio.get_running_loop().create_future()
                    asyncio.create_task(waits(future), name="unrelated")
                    price_task.add_done_callback(lambda _: future)
                    await asyncio.sleep(600)
                case "bound":
                    other_task = asyncio.create_task(other(), name="unrelated")
                    price_task.add_done_callback(other_task.cancel)
                    await asyncio.sleep(600)
                case "within":
                    async with asyncio.TaskGroup() as group:
                        price_task.cancel()
                        group.create_task(price(), name="price")
                        await asyncio.sleep(600)
                case "alone": await asyncio.sleep(600)

        async def waits(future):
            await future

        async def main():
            await asyncio.create_task(checkout(), name="checkout-\\u00f6")

        asyncio.run(main())
        """

    private static let awaited = PythonLockTests.interpreters.flatMap { interpreter in
        ["await", "gather", "shield", "wait", "wait_for", "group"].map { (interpreter, $0) }
    }

    private func awaiters(_ interpreter: String, _ mode: String) throws -> [String] {
        let process = try InterpretedProcess(interpreter, Self.waits, file: "shop.py", [mode, "sleep"])
        var found: cll_task?
        _ = eventually {
            _ = process.take()
            found = process.capture.task?.pointee
            return found != nil
        }
        #expect(found?.nameText == "price")
        return found?.awaiterTexts ?? []
    }

    @Test(arguments: awaited) func `the awaiter of a task and the awaiter of that awaiter are reported`(
        interpreter: String,
        mode: String
    ) throws {
        let awaiters = try awaiters(interpreter, mode)
        #expect(awaiters.count == 2 && awaiters[0] == "checkout-\u{f6}" && awaiters[1].hasPrefix("Task-"), "\(awaiters)")
    }

    /// The variables of the program's own callbacks may contain anything.
    @Test(
        arguments: PythonLockTests.interpreters.flatMap { interpreter in
            ["callback", "bound", "within", "alone"].map { (interpreter, $0) }
        }
    )
    func `a task for which no other task waits has no awaiter`(interpreter: String, mode: String) throws {
        #expect(try awaiters(interpreter, mode) == [])
    }

    @Test func `an overlong name is truncated at a character boundary`() {
        var task = cll_task()
        LanguageTask(address: 0x7f00_0000_1230, name: String(repeating: "n", count: 63) + "\u{f6}").write(to: &task)
        #expect(task.nameText == String(repeating: "n", count: 63) && task.number == 0x123)
        LanguageTask(address: 16, name: nil, awaiters: ["a", String(repeating: "n", count: 70), "c", "d"]).write(to: &task)
        #expect(task.nameText == nil && task.awaiterTexts == ["a", String(repeating: "n", count: 64), "c"])
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading random Python tasks terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let copy = try #require(MemoryCopy(process: getpid()))
        // Its stack is far away from the random memory.
        let bytes = 4096
        let begin: UInt64 = 0x7fff_0000_0000
        let stack = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes)
        defer { stack.deallocate() }
        for offset in stride(from: 0, to: bytes, by: 8) {
            UnsafeMutableRawPointer(stack).storeBytes(of: wild.anyAddress & ~15, toByteOffset: offset, as: UInt64.self)
        }
        var snapshot = cll_snapshot()
        (snapshot.stack, snapshot.capacity) = (stack, UInt64(bytes))
        (snapshot.stack_begin, snapshot.stack_length) = (begin, UInt64(bytes))
        for layout in [PythonLayout.version3x11, .version3x12] {
            for anchor in [begin, begin + 8, begin + UInt64(bytes) - 1, begin + UInt64(bytes), .max, 0] {
                let frame = PythonFrameWalk.Frame(
                    address: wild.anyAddress &+ layout.generatorFrame,
                    code: 0,
                    instruction: 0,
                    owner: PythonLayout.ownedByGenerator
                )
                let groups = [UInt64](repeating: anchor, count: 8).map { PythonFrameWalk.Group(frames: [frame], anchor: $0) }
                let coroutines = PythonTask.coroutines(groups, layout)
                let types = PythonTask.Types(text: wild.anyAddress, number: wild.anyAddress)
                let reader = PythonTask(copy, layout, types)
                copy.open(&snapshot, within: 2_000_000)
                let found = [reader.search(coroutines), reader.running(coroutines, at: [0, 24, .max])]
                copy.close(&snapshot)
                #expect(reader.running(coroutines, at: [0, 24, .max])?.task == found[1]?.task)
                for case let found? in found {
                    var awaiters = PythonAwaiters(RemoteMemory(process: getpid()), layout, types, of: found)
                    #expect(awaiters.names().count <= 3)
                    #expect(!PythonTaskLearner(RemoteMemory(process: getpid())).isTask(found))
                }
            }
        }
        copy.close(nil)
    }
}
