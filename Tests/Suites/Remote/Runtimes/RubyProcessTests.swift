internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A sleeping Ruby program, watched from here.
@Suite(.enabled(if: access("/usr/bin/ruby", X_OK) == 0, "no ruby on this machine"))
struct RubyProcessTests {
    private static let program = """
        $stdout.sync = true
        class Shop
          def checkout
            [1].each do |number|
              wait number
            end
          end

          def wait(number)
            puts "ready"
            sleep 600
          end
        end
        Shop.new.checkout
        """

    @Test func `a sleeping thread has Ruby frames between the C frames`() throws {
        let process = try InterpretedProcess("/usr/bin/ruby", Self.program, file: "shop.rb")
        var found: [String] = []
        let isFound = eventually {
            found = process.described(process.take())
            return found.filter { $0 != "C" }.count == 4
        }
        #expect(isFound, "\(found)")
        let own = found.filter { $0 != "C" }
        #expect(
            own == ["wait (shop.rb):11", "block in checkout (shop.rb):5", "checkout (shop.rb):4", "<main> (shop.rb):14"],
            "\(found)"
        )
        // `each` is between the block and the method.
        let block = try #require(found.firstIndex { $0.hasPrefix("block") })
        #expect(found[block + 1] == "C")
    }

    private static let otherLanguage = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"

    @Test(.enabled(if: access(Self.otherLanguage, R_OK) == 0, "no library of Python on this machine"))
    func `a runtime that is loaded later is recognised beside the first one`() throws {
        let program = """
            require "fiddle"

            def script(library)
              run = Fiddle::Function.new(library["PyRun_SimpleString"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
              run.call("import time\\ndef work():\\n  time.sleep(600)\\nwork()\\n")
            end

            $stdout.sync = true

            puts "ready"; gets
            library = Fiddle.dlopen("\(Self.otherLanguage)")
            Fiddle::Function.new(library["Py_InitializeEx"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID).call(0)
            script(library)
            """
        let process = try InterpretedProcess("/usr/bin/ruby", program, file: "host.rb")
        #expect(process.ownFrames(of: process.pid) == ["<main> (host.rb):10"])
        try process.goOn()
        let expected = ["work (<string>):3", "<module> (<string>):4", "script (host.rb):5", "<main> (host.rb):13"]
        var found: [String] = []
        #expect(
            eventually {
                found = process.own(process.take())
                return found == expected
            },
            "\(found)"
        )
    }

    /// The innermost frame of a program, in forty captures.
    private func innermost(of program: String) throws -> [String] {
        let process = try InterpretedProcess("/usr/bin/ruby", program, file: "list.rb")
        var lines: [String] = []
        let areAll = eventually {
            lines += process.own(process.take()).prefix(1)
            return lines.count == 40
        }
        #expect(areAll)
        return lines
    }

    /// An instruction that calls no method advances the program counter only at its end.
    @Test func `a copied literal is reported at its own line, not at that of earlier code`() throws {
        let numbers = (0..<200_000).map(String.init).joined(separator: ",")
        let program = """
            puts "ready"
            $stdout.flush
            number = 0
            while true
              if number < 0
                number = 5
              else
                list = [\(numbers)]
              end
              number += 1
            end
            """
        let lines = try innermost(of: program)
        let right = lines.filter { $0 == "<main> (list.rb):8" }.count
        #expect(right * 2 > lines.count, "\(lines)")
        #expect(!lines.contains("<main> (list.rb):6"), "\(lines)")
    }

    /// The interpreter is then in code that the operators share, of another instruction, which may be the next one.
    @Test func `a C function called by an operator is reported at the line of the operator`() throws {
        let program = """
            puts "ready"
            $stdout.flush
            def taken(text) = text.size
            while true
              taken(
                "x" * 30_000_000
              )
            end
            """
        let lines = try innermost(of: program)
        #expect(lines.filter { $0 == "<main> (list.rb):6" }.count * 2 > lines.count, "\(lines)")
    }

    /// In the child, Ruby keeps the thread ID of the parent.
    @Test func `a process forked by Ruby has Ruby frames`() throws {
        let program = """
            $stdout.sync = true
            def work
              puts "ready"
              sleep 600
            end
            child = fork { work }
            Process.wait child
            """
        let process = try InterpretedProcess("/usr/bin/ruby", program, file: "forks.rb")
        let children = try #require(ProcFile.text(at: "/proc/\(process.pid)/task/\(process.pid)/children", limit: 64))
        let child = try #require(children.split(separator: " ").first.flatMap { Int32($0) })
        defer { kill(child, SIGKILL) }
        var reader = CallChainReader(process: child, tid: child)
        // The program, the block of `fork`, and `work`.
        #expect(eventually { reader.read()?.calls.count == 3 })
    }

    /// Each fiber has its own context, and the thread may be in another fiber by the time that it is stopped.
    @Test func `a thread that switches between fibers has only the frames of its current fiber`() throws {
        let program = """
            $stdout.sync = true
            def inside(number)
              number += 1 while number % 50 != 0
              Fiber.yield
            end
            def outside(number)
              number += 1 while number % 50 != 0
            end
            other = Fiber.new { loop { inside(1) } }
            puts "ready"
            loop do
              other.resume
              outside(1)
            end
            """
        let process = try InterpretedProcess("/usr/bin/ruby", program, file: "fibers.rb")
        var (found, insides, resumed) = (0, 0, 0)
        for _ in 0..<200 {
            let own = process.own(process.take())
            let isInside = own.contains { $0.hasPrefix("inside") }
            let isOutside = own.contains { $0.hasPrefix("outside") }
            // No frames of one fiber appear in the other.
            #expect(!isInside || !isOutside, "\(own)")
            if isInside || isOutside { found += 1 }
            if isInside { insides += 1 }
            // While it returns, a fiber no longer knows which fiber resumed it.
            if isInside, own.contains(where: { $0.hasPrefix("block in <main> (fibers.rb):12") }) { resumed += 1 }
        }
        #expect(found > 100 && insides > 0 && resumed * 2 > insides)
    }
}
