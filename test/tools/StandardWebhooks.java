// Verifies deliveries with the official Java library of Standard Webhooks. Reads a JSON list of {secret, body, headers} and writes a JSON
// list: null if the library accepts the delivery, otherwise its error.
import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.nio.charset.StandardCharsets;
import java.util.*;
import net.minidev.json.*;

class StandardWebhooks {
    public static void main(String[] args) throws Exception {
        String input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        JSONArray results = new JSONArray();
        for (Object message : (JSONArray) JSONValue.parseWithException(input)) results.add(verify((JSONObject) message));
        System.out.println(results.toJSONString());
    }

    static String verify(JSONObject message) {
        Map<String, List<String>> headers = new HashMap<>();
        ((JSONObject) message.get("headers")).forEach((name, value) -> headers.put(name, List.of((String) value)));
        try {
            new Webhook((String) message.get("secret")).verify((String) message.get("body"), headers);
            return null;
        } catch (WebhookVerificationException error) {
            return String.valueOf(error.getMessage());
        }
    }
}
