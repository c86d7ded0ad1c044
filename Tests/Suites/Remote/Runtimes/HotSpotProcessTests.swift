internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A waiting Java program, watched from here.
@Suite(.enabled(if: access("/usr/bin/javac", X_OK) == 0, "no Java compiler on this machine"))
struct HotSpotProcessTests {
    /// The lines at which threads are in that method, as soon as it is only the expected one, or in the end.
    private static func lines(of method: String, in program: String, until expected: Int) throws -> [Int] {
        let process = try InterpretedProcess("/usr/bin/java", program, file: "Shop.java")
        var found: [Int] = []
        _ = eventually {
            let frames = process.threads.compactMap { process.own(process.take($0)).first { $0.hasPrefix(method + ":") } }
            found = frames.compactMap { Int($0.dropFirst(method.count + 1)) }
            return found == [expected]
        }
        return found
    }

    /// The interpreter stores the position after that bytecode.
    @Test func `a thread that waits for a monitor is reported at the line that enters it`() throws {
        let program = """
            class Shop {
              static final Object LOCK = new Object();
              public static void main(String[] arguments) throws Exception {
                String[] names = new String[1];
                Thread holder = new Thread(() -> {
                  synchronized (LOCK) {
                    System.out.println("ready");
                    try { Thread.sleep(600_000); } catch (InterruptedException exception) { }
                  }
                });
                holder.start();
                while (holder.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);
                synchronized (LOCK) {
                  names[0] = "behind it";
                }
              }
            }
            """
        #expect(try Self.lines(of: "Shop.main", in: program, until: 13) == [13])
    }

    /// The interpreter replaces the bytecode that loads the first local variable by another one.
    @Test func `a thread that enters a monitor a second time is reported at the line that enters it`() throws {
        let program = """
            class Shop {
              static final Object LOCK = new Object();
              static void enter(String[] names) {
                synchronized (LOCK) {
                  names[0] = "behind it";
                }
              }
              public static void main(String[] arguments) throws Exception {
                String[] names = new String[1];
                enter(names);
                Thread holder = new Thread(() -> {
                  synchronized (LOCK) {
                    System.out.println("ready");
                    try { Thread.sleep(600_000); } catch (InterruptedException exception) { }
                  }
                });
                holder.start();
                while (holder.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);
                enter(names);
              }
            }
            """
        #expect(try Self.lines(of: "Shop.enter", in: program, until: 4) == [4])
    }
}
