import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;

/** The JDK's HTTP server, on NIO: WebServer PORT THREADS FIFO. With 0 threads its dispatcher, a loop, runs the handler. */
public class WebServer {
    static volatile long sum;

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
        int threads = Integer.parseInt(arguments[1]);
        server.createContext("/", exchange -> {
            try {
                switch (exchange.getRequestURI().getPath()) {
                    case "/sleep" -> Thread.sleep(600);
                    case "/hang" -> Thread.sleep(8000);
                    case "/compute" -> compute(System.nanoTime() + 600_000_000L);
                    case "/read" -> Files.readAllBytes(Path.of(arguments[2]));
                }
            } catch (InterruptedException error) {
                throw new java.io.IOException(error);
            }
            byte[] answer = "hello\n".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(threads == 0 ? null : Executors.newFixedThreadPool(threads));
        server.start();
    }

    static void compute(long end) {
        while (System.nanoTime() < end) sum++;
    }
}
