/* An archive of jansson that is made for programs addresses stdin in a way that a shared object can't. Only json_loadf
 * looks at it, to refuse it, and nothing here calls that: a symbol of the library's own takes its place. */
extern void *stdin;
__attribute__((visibility("hidden"))) void *stdin;
