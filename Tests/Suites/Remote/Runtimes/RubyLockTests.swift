internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Ruby programs in which one thread holds the global lock in C code while the first thread waits for it.
@Suite(.enabled(if: access("/usr/bin/ruby", X_OK) == 0, "no ruby on this machine"))
struct RubyLockTests {
    /// `need_gvl`: a call that does not release the lock.
    private static let program = """
        require "fiddle"
        $stdout.sync = true
        USLEEP = Fiddle::Function.new Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true

        def keep
          USLEEP.call 600_000_000
        end

        def serve
          Thread.new { keep }
          loop { sleep 0.01 }
        end

        if ARGV[0] == "free"
          Thread.new { sleep 600 }
          queue = Queue.new
          puts "ready"
          queue.pop
        end
        puts "ready"
        serve
        """

    @Test func `the holder of the global lock is identified with its frames`() throws {
        let process = try InterpretedProcess("/usr/bin/ruby", Self.program, file: "shop.rb", ["sleep"], ownFile: "shop.rb")
        let owner = process.interpreterLockOwner()
        let threads = process.threads
        #expect(threads.count == 2 && owner == threads[1], "\(String(describing: owner)) of \(threads)")
        let frames = process.ownFrames(of: threads[1])
        #expect(frames.first == "keep (shop.rb):6", "\(frames)")
    }

    /// Ruby's `sleep` and a queue wait in the same condition variable.
    @Test func `another wait is not reported as a wait for the global lock`() throws {
        let process = try InterpretedProcess("/usr/bin/ruby", Self.program, file: "shop.rb", ["free"])
        for _ in 0..<20 {
            _ = process.take()
            for thread in process.threads {
                let chain = process.chain(from: thread)
                #expect(chain.count == 0 || chain[0].lock.kind != Int32(CLL_LOCK_INTERPRETER))
            }
            usleep(5000)
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `a lock in random memory has no holder`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let memory = RemoteMemory(process: getpid())
        let layout = try #require(RubyLayout.known.first)
        // Machine, thread and ractor are valid; all other pointers are random.
        let (machine, thread, ractor) = (wild.address(1024), wild.address(8192), wild.address(16384))
        wild.store(machine, at: 0)
        wild.store(thread, at: 1024 + Int(layout.mainThread))
        wild.store(machine, at: 8192 + Int(layout.threadMachine))
        wild.store(ractor, at: 8192 + Int(layout.threadRactor))
        wild.store(wild.anyAddress, at: 16384 + Int(layout.ractorLock))
        let threads = try #require(RubyThreads(memory, layout, machineAt: wild.address(0)))
        let lock = RubyLock(memory, layout, threads)
        let found = lock.lock(waitedForAt: ractor &+ layout.ractorLock &+ 80)
        #expect(found?.address == ractor &+ layout.ractorLock && found?.owner == 0)
        _ = lock.lock(waitedForAt: thread &+ layout.threadCondition)
        _ = lock.lock(waitedForAt: wild.anyAddress)
    }
}
