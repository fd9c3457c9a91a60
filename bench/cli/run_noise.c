#include "cli/run_noise.h"

#include <math.h>
#include <stdio.h>

#include "record/result/result.h"
#include "record/compare/noise.h"
#include "base/tree.h"

/* Three digits where there are so many before the point or behind it. */
static int decimals(double percent)
{
    return percent < 10 ? 2 : percent < 100 ? 1 : 0;
}

/* `how`: " " or what else is to be said of it. */
static void tell(const json_t *noise, const char *how, const char *when)
{
    const json_t *wall = json_object_get(json_object_get(noise, "metrics"), "wall_ns");
    const char *configuration;
    json_t *floor;
    double of_configurations = NAN;
    json_object_foreach((json_t *)noise_configurations(wall), configuration, floor)
    {
        of_configurations = fmax(of_configurations, json_number_value(floor));
    }
    double of_case = 100 * tree_get_number(wall, "floor");
    fprintf(stderr, "gamut: the noise floor of %s is %.*f %%", tree_get_text(noise, "device"),
            decimals(of_case), of_case);
    if (!isnan(of_configurations))
        fprintf(stderr, " for a case, %.*f %% for all cases of a strategy",
                decimals(100 * of_configurations), 100 * of_configurations);
    fprintf(stderr, "%s%s\n", how, when);
}

static size_t devices_of(const json_t *root)
{
    return json_array_size(json_object_get(json_object_get(root, "context"), "devices"));
}

static bool take(void *context, const char *path, const json_t *root)
{
    struct result *result = context;
    (void)path;
    size_t i = noise_take(result->root, root);
    const json_t *all = json_object_get(result->root, "noise"), *noise;
    for (; (noise = json_array_get(all, i)); i++)
        tell(noise, ", measured at ", tree_get_text(noise, "measured_at"));
    return json_array_size(all) == devices_of(result->root);
}

void run_noise_known(struct result *result, const char *results)
{
    newest_results(results, "noise", take, result);
}

void run_noise_measured(struct result *result)
{
    struct error error = {0};
    const json_t *noise;
    if (noise_measure(result->root, &error)) {
        fprintf(stderr, "gamut: %s\n", error.text);
        return;
    }
    for (size_t i = 0; (noise = json_array_get(json_object_get(result->root, "noise"), i)); i++)
        tell(noise, ": what runs of the same build differ by", "");
}
