import com.google.gson.Gson;
import com.posthog.server.PostHog;
import com.posthog.server.PostHogCaptureOptions;
import com.posthog.server.PostHogConfig;
import com.posthog.server.PostHogFeatureFlagOptions;
import com.posthog.server.PostHogInterface;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A program with PostHog's client for Java: it does the step named by the variable TASK against the server named there, and
 * prints what it saw as JSON.
 */
public class PosthogProgram {
  static class Task {
    String Step, Host, ProjectKey, PersonalKey, Name;
    int Events;
  }

  public static void main(String[] arguments) throws Exception {
    Task task = new Gson().fromJson(System.getenv("TASK"), Task.class);
    Map<String, Object> seen = task.Step.equals("capture") ? capture(task) : flags(task);
    System.out.println(new Gson().toJson(seen));
    System.exit(0);
  }

  static PostHogInterface open(Task task) {
    PostHogConfig.Builder config =
        PostHogConfig.builder(task.ProjectKey).host(task.Host).flushAt(1).maxBatchSize(1).sendFeatureFlagEvent(false);
    return PostHog.with((task.Step.equals("local") ? config.personalApiKey(task.PersonalKey) : config).build());
  }

  /** Captures, and asks the client to send until standard input ends; it does not report what is sent. */
  static Map<String, Object> capture(Task task) throws Exception {
    PostHogInterface client = open(task);
    client.identify(task.Name, Map.of("plan", "pro"));
    client.group(task.Name, "company", "acme", Map.of("seats", 7));
    client.alias(task.Name, task.Name + "-alias");
    for (int i = 0; i < task.Events; i++) {
      client.capture(
          task.Name, "captured", PostHogCaptureOptions.builder().property("number", i).group("company", "acme").build());
    }
    Thread sending =
        new Thread(
            () -> {
              while (true) {
                client.flush();
                try {
                  TimeUnit.MILLISECONDS.sleep(20);
                } catch (InterruptedException ended) {
                  return;
                }
              }
            });
    sending.setDaemon(true);
    sending.start();
    System.in.read();
    return Map.of();
  }

  static Map<String, Object> flags(Task task) {
    PostHogInterface client = open(task);
    PostHogFeatureFlagOptions options =
        PostHogFeatureFlagOptions.builder()
            .personProperty("plan", "pro")
            .group("company", "acme")
            .groupProperty("company", "seats", 7)
            .build();
    Map<String, Object> seen = new HashMap<>();
    for (String key : new String[] {"color", "everyone", "nobody", "large"}) {
      seen.put(key, client.getFeatureFlag(task.Name, key, options));
    }
    seen.put("payload", client.getFeatureFlagPayload(task.Name, "color", options));
    return seen;
  }
}
