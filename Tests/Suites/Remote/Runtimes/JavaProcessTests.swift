internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A stalling Java program, watched from here. The virtual machine runs it on a thread that it creates.
private enum JavaProcess {
    /// A Java that can run a source file.
    static let path = (["/usr/bin/java"] as [String]).first { access($0, X_OK) == 0 && access("/usr/bin/javac", X_OK) == 0 }

    static let program = """
        import java.lang.invoke.*;
        import java.util.function.*;
        public class Shop {
          static volatile long sink;
          static class Cart {
            long total(LongUnaryOperator price) {
              return price.applyAsLong(600000);
            }
          }
          static long doze(long milliseconds) {
            try {
              Thread.sleep(milliseconds);
            } catch (InterruptedException stopped) { }
            return milliseconds;
          }
          static long mix(long value, long round) {
            return (value ^ round) * 31;
          }
          static void spin(long rounds) {
            long value = 1;
            for (long round = 0; round < rounds; round++) {
              value = mix(value, round);
            }
            sink = value;
          }
          static final MutableCallSite SITE = new MutableCallSite(MethodHandles.constant(long.class, 1L));
          static final MethodHandle PRICE = SITE.dynamicInvoker();
          static long talk(long milliseconds) throws Throwable {
            long first = (long) PRICE.invokeExact() + doze(milliseconds);
            return first + (long) PRICE.invokeExact() + late(3);
          }
          static void change() {
            doze(300);
            SITE.setTarget(MethodHandles.constant(long.class, 2L));
            doze(600000);
          }
          static long late(long rounds) {
            return rounds < 1 ? 0 : late(rounds - 1) + late(rounds - 2);
          }
          static long leaf(boolean isLast) {
            return isLast ? doze(600000) : 1;
          }
          static long branch(boolean isLast) {
            return leaf(isLast) + 1;
          }
          public static void main(String[] arguments) throws Throwable {
            System.out.println("ready");
            if (arguments[0].equals("spin")) spin(Long.MAX_VALUE);
            if (arguments[0].equals("hot")) {
              for (int round = 0; round < 300000; round++) sink = branch(false);
              branch(true);
            }
            if (arguments[0].equals("given")) {
              for (int round = 0; round < 50000; round++) sink = talk(0);
              doze(1500);
              new Thread(() -> change()).start();
              talk(600000);
            }
            new Cart().total(amount -> doze(amount));
          }
        }
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(path ?? "", program, file: "Shop.java", [mode], ownFile: "Shop.java")
    }
}

#if arch(x86_64)
    @Suite(.enabled(if: JavaProcess.path != nil, "no Java on this machine"))
    struct JavaProcessTests {
        static let lambda = ["Shop.doze:12", "Shop.lambda$main$1:59", "Shop$Cart.total:7", "Shop.main:59"]
        static let hot = ["Shop.doze:12", "Shop.leaf:41", "Shop.branch:44", "Shop.main:51"]

        /// The program's main method does not run on the process's first thread.
        private func own(_ process: InterpretedProcess, _ method: CaptureMethod) -> [[String]] {
            process.threads.compactMap { tid in
                let outcome = process.take(tid)
                return outcome.method == method ? process.own(outcome) : nil
            }
        }

        /// In the interpreter, and in compiled code with an inlined method.
        @Test(arguments: [("sleep", JavaProcessTests.lambda), ("hot", JavaProcessTests.hot)])
        func `a sleeping thread has Java frames with line numbers`(mode: String, expected: [String]) throws {
            let process = try JavaProcess.start(mode)
            var found: [[String]] = []
            let isFound = eventually {
                found = own(process, .passive)
                return found.contains(expected)
            }
            #expect(isFound, "\(found)")
        }

        /// An assumption of the compiled code has become invalid since: the code returns to the interpreter.
        @Test func `deoptimised code that returns to the interpreter has its line number`() throws {
            let process = try JavaProcess.start("given")
            var found: [[String]] = []
            // Each look stops every thread of the program, whose compiler has to keep up.
            let isChanged = eventually(seconds: 120) {
                usleep(100_000)
                found = own(process, .passive)
                return found.contains { $0.contains("Shop.change:35") }
            }
            #expect(isChanged && found.contains(["Shop.doze:12", "Shop.talk:29", "Shop.main:57"]), "\(found)")
        }

        @Test func `a running thread has Java frames with line numbers`() throws {
            let process = try JavaProcess.start("spin")
            var found: [[String]] = []
            let isFound = eventually {
                found = own(process, .ptrace)
                return found.contains { $0.last == "Shop.main:48" && $0.contains { $0.hasPrefix("Shop.spin:2") } }
            }
            #expect(isFound, "\(found)")
        }
    }
#endif
