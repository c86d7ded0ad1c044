// Started by the run loop's tests, for what cannot be shown inside the test process: the main thread's loop, and counts of
// threads, descriptors and memory that nothing else disturbs. Prints a line a check; exit status 1 when one failed.
import Glibc

switch CommandLine.arguments.dropFirst().first {
case "main-loop": MainLoopProbe.run()
case "threads": ThreadsProbe.run(count: CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 100_000)
case "descriptors": DescriptorsProbe.run()
default:
    print("usage: RunLoopProbe main-loop | threads [COUNT] | descriptors")
    exit(64)
}
exit(Checks.allPassed ? 0 : 1)
