/* Running the tree of a kernel's text. */
#include <math.h>
#include <string.h>

#include "tests/program/shadow_c.h"

bool c_is_float(enum c_type type)
{
    return type == C_f32 || type == C_f64;
}

enum c_type c_type_of(enum element element)
{
    static const enum c_type types[] = {
        [ELEMENT_bool] = C_u8, [ELEMENT_u8] = C_u8,   [ELEMENT_i32] = C_i32, [ELEMENT_u32] = C_u32,
        [ELEMENT_i64] = C_i64, [ELEMENT_f32] = C_f32, [ELEMENT_f64] = C_f64,
    };
    return types[element];
}

static int64_t wrap(enum c_type type, int64_t i)
{
    switch (type) {
    case C_bool:
        return i != 0;
    case C_i8:
        return (int8_t)i;
    case C_u8:
        return (uint8_t)i;
    case C_i32:
        return (int32_t)i;
    case C_u32:
        return (uint32_t)i;
    default:
        return i;
    }
}

/* Out of range is undefined in C; the nearest value is always the same. */
static int64_t whole(double d, enum c_type to)
{
    if (to == C_u64 && d >= 0x1p63)
        return d >= 0x1p64 ? -1 : (int64_t)(uint64_t)d;
    return d != d ? 0 : d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : (int64_t)d;
}

union c_value c_convert(union c_value v, enum c_type from, enum c_type to)
{
    if (from == to)
        return v;
    if (from == C_f32 || from == C_f64) {
        double d = from == C_f32 ? (double)v.f : v.d;
        if (to == C_f64)
            return (union c_value){.d = d};
        if (to == C_f32)
            return (union c_value){.f = (float)d};
        return (union c_value){.i = to == C_bool ? d != 0 : wrap(to, whole(d, to))};
    }
    if (to == C_f32)
        return (union c_value){.f = from == C_u64 ? (float)(uint64_t)v.i : (float)v.i};
    if (to == C_f64)
        return (union c_value){.d = from == C_u64 ? (double)(uint64_t)v.i : (double)v.i};
    return (union c_value){.i = wrap(to, v.i)};
}

static void stop(struct c_run *r, const struct c_node *n, const char *why)
{
    if (!r->failure) {
        r->failure = why;
        r->failure_line = n->line;
    }
}

/* ---- operators ------------------------------------------------------------------------------ */

static int64_t divide(struct c_run *r, const struct c_node *n, int64_t a, int64_t b)
{
    if (b == 0) {
        stop(r, n, "division by zero");
        return 0;
    }
    bool modulo = n->op == CX_MOD;
    if (n->type == C_u64)
        return (int64_t)(modulo ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
    if (b == -1)
        return modulo ? 0 : (int64_t)(0 - (uint64_t)a);
    return modulo ? a % b : a / b;
}

static int64_t shift(struct c_run *r, const struct c_node *n, int64_t a, int64_t b)
{
    int64_t width = n->type == C_i64 || n->type == C_u64 ? 64 : 32;
    if (b < 0 || b >= width) {
        stop(r, n, "a shift by less than 0 or by all the bits there are");
        return 0;
    }
    if (n->op == CX_SHL)
        return (int64_t)((uint64_t)a << b);
    return n->type == C_u64 ? (int64_t)((uint64_t)a >> b) : a >> b;
}

static union c_value integers(struct c_run *r, const struct c_node *n, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    /* Comparisons are of the type of their kids, and u64 is the one that int64_t cannot order. */
    bool wide = n->kid[0]->type == C_u64;
    int64_t i = 0;
    switch (n->op) {
    case CX_MUL:
        i = (int64_t)(x * y);
        break;
    case CX_DIV:
    case CX_MOD:
        i = divide(r, n, a, b);
        break;
    case CX_ADD:
        i = (int64_t)(x + y);
        break;
    case CX_SUB:
        i = (int64_t)(x - y);
        break;
    case CX_SHL:
    case CX_SHR:
        i = shift(r, n, a, b);
        break;
    case CX_LT:
        i = wide ? x < y : a < b;
        break;
    case CX_GT:
        i = wide ? x > y : a > b;
        break;
    case CX_LE:
        i = wide ? x <= y : a <= b;
        break;
    case CX_GE:
        i = wide ? x >= y : a >= b;
        break;
    case CX_EQ:
        i = a == b;
        break;
    case CX_NE:
        i = a != b;
        break;
    case CX_BITAND:
        i = a & b;
        break;
    case CX_XOR:
        i = a ^ b;
        break;
    case CX_BITOR:
        i = a | b;
        break;
    default:
        break;
    }
    return (union c_value){.i = wrap(n->type, i)};
}

/* clang-format off */
#define FLOATS(name, ctype, field)                                                                 \
    static union c_value name(const struct c_node *n, ctype a, ctype b)                            \
    {                                                                                              \
        switch (n->op) {                                                                           \
        case CX_MUL: return (union c_value){.field = a * b};                                       \
        case CX_DIV: return (union c_value){.field = a / b};                                       \
        case CX_ADD: return (union c_value){.field = a + b};                                       \
        case CX_SUB: return (union c_value){.field = a - b};                                       \
        case CX_LT: return (union c_value){.i = a < b};                                            \
        case CX_GT: return (union c_value){.i = a > b};                                            \
        case CX_LE: return (union c_value){.i = a <= b};                                           \
        case CX_GE: return (union c_value){.i = a >= b};                                           \
        case CX_EQ: return (union c_value){.i = a == b};                                           \
        default: return (union c_value){.i = a != b};                                              \
        }                                                                                          \
    }
FLOATS(singles, float, f)
FLOATS(doubles, double, d)

static union c_value math_f32(int math, float a, float b, float c)
{
    switch (math) {
    case MATH_sqrt: return (union c_value){.f = sqrtf(a)};
    case MATH_fabs: return (union c_value){.f = fabsf(a)};
    case MATH_floor: return (union c_value){.f = floorf(a)};
    case MATH_ceil: return (union c_value){.f = ceilf(a)};
    case MATH_exp: return (union c_value){.f = expf(a)};
    case MATH_log: return (union c_value){.f = logf(a)};
    case MATH_sin: return (union c_value){.f = sinf(a)};
    case MATH_cos: return (union c_value){.f = cosf(a)};
    case MATH_fmin: return (union c_value){.f = fminf(a, b)};
    case MATH_fmax: return (union c_value){.f = fmaxf(a, b)};
    case MATH_pow: return (union c_value){.f = powf(a, b)};
    case MATH_atan2: return (union c_value){.f = atan2f(a, b)};
    default: return (union c_value){.f = fmaf(a, b, c)};
    }
}

static union c_value math_f64(int math, double a, double b, double c)
{
    switch (math) {
    case MATH_sqrt: return (union c_value){.d = sqrt(a)};
    case MATH_fabs: return (union c_value){.d = fabs(a)};
    case MATH_floor: return (union c_value){.d = floor(a)};
    case MATH_ceil: return (union c_value){.d = ceil(a)};
    case MATH_exp: return (union c_value){.d = exp(a)};
    case MATH_log: return (union c_value){.d = log(a)};
    case MATH_sin: return (union c_value){.d = sin(a)};
    case MATH_cos: return (union c_value){.d = cos(a)};
    case MATH_fmin: return (union c_value){.d = fmin(a, b)};
    case MATH_fmax: return (union c_value){.d = fmax(a, b)};
    case MATH_pow: return (union c_value){.d = pow(a, b)};
    case MATH_atan2: return (union c_value){.d = atan2(a, b)};
    default: return (union c_value){.d = fma(a, b, c)};
    }
}
/* clang-format on */

/* ---- expressions ---------------------------------------------------------------------------- */

static union c_value eval(struct c_run *r, const struct c_node *n);

static bool truth(struct c_run *r, const struct c_node *n)
{
    union c_value v = eval(r, n);
    return n->type == C_f32 ? v.f != 0 : n->type == C_f64 ? v.d != 0 : v.i != 0;
}

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };
static enum flow exec(struct c_run *r, const struct c_node *n, union c_value *result);

static union c_value call(struct c_run *r, const struct c_node *n)
{
    const struct c_function *f = n->function;
    union c_value *caller = r->frame, *own = r->top, result = {.i = 0};
    union c_value arguments[C_PARAMETERS];
    unsigned count = 0;
    for (const struct c_node *a = n->kid[0]; a; a = a->next)
        arguments[count++] = eval(r, a); /* these may be calls that need the stack themselves */
    if (r->end - own < (ptrdiff_t)f->slots) {
        stop(r, n, "calls too deep for the interpreter");
        return result;
    }
    memcpy(own, arguments, count * sizeof *own);
    r->frame = own;
    r->top = own + f->slots;
    exec(r, f->body, &result);
    r->top = own;
    r->frame = caller;
    return result;
}

static union c_value *variable(struct c_run *r, const struct c_node *n)
{
    int64_t i = 0;
    if (n->op == CX_INDEXED) {
        i = eval(r, n->kid[0]).i;
        if (i < 0 || i >= n->count) {
            stop(r, n, "an index outside of an array of the kernel's own");
            i = 0;
        }
    }
    return &r->frame[n->slot + i];
}

static void indices(struct c_run *r, const struct c_node *n, int64_t *index)
{
    for (unsigned d = 0; d < n->count; d++)
        index[d] = eval(r, n->kid[d]).i;
}

static void assign(struct c_run *r, const struct c_node *to, union c_value value)
{
    int64_t index[RANK_MAX];
    if (to->op != CX_ELEMENT) {
        *variable(r, to) = value;
        return;
    }
    indices(r, to, index);
    if (!r->failure)
        r->write(r, to, index, value);
}

static union c_value binary(struct c_run *r, const struct c_node *n)
{
    union c_value a = eval(r, n->kid[0]), b = eval(r, n->kid[1]);
    switch (n->kid[0]->type) {
    case C_f32:
        return singles(n, a.f, b.f);
    case C_f64:
        return doubles(n, a.d, b.d);
    default:
        return integers(r, n, a.i, b.i);
    }
}

static union c_value unary(struct c_run *r, const struct c_node *n)
{
    union c_value v = eval(r, n->kid[0]);
    if (n->op == CX_COMPLEMENT)
        return (union c_value){.i = wrap(n->type, ~v.i)};
    if (n->type == C_f32)
        return (union c_value){.f = -v.f};
    if (n->type == C_f64)
        return (union c_value){.d = -v.d};
    return (union c_value){.i = wrap(n->type, (int64_t)(0 - (uint64_t)v.i))};
}

static union c_value math(struct c_run *r, const struct c_node *n)
{
    union c_value v[3] = {{.i = 0}, {.i = 0}, {.i = 0}};
    for (unsigned i = 0; i < 3 && n->kid[i]; i++)
        v[i] = eval(r, n->kid[i]);
    return n->type == C_f32 ? math_f32(n->math, v[0].f, v[1].f, v[2].f)
                            : math_f64(n->math, v[0].d, v[1].d, v[2].d);
}

static union c_value eval(struct c_run *r, const struct c_node *n)
{
    union c_value v = {.i = 0};
    int64_t index[RANK_MAX];
    switch (n->op) {
    case CX_CONSTANT:
        return n->value;
    case CX_VARIABLE:
        return r->frame[n->slot];
    case CX_INDEXED:
        return *variable(r, n);
    case CX_ELEMENT:
        indices(r, n, index);
        return r->failure ? v : r->read(r, n, index);
    case CX_CONVERT:
        return c_convert(eval(r, n->kid[0]), n->kid[0]->type, n->type);
    case CX_NEGATE:
    case CX_COMPLEMENT:
        return unary(r, n);
    case CX_NOT:
        return (union c_value){.i = !truth(r, n->kid[0])};
    case CX_AND:
        return (union c_value){.i = truth(r, n->kid[0]) && truth(r, n->kid[1])};
    case CX_OR:
        return (union c_value){.i = truth(r, n->kid[0]) || truth(r, n->kid[1])};
    case CX_CHOOSE:
        return eval(r, truth(r, n->kid[0]) ? n->kid[1] : n->kid[2]);
    case CX_ASSIGN:
        v = eval(r, n->kid[1]);
        assign(r, n->kid[0], v);
        return v;
    case CX_POST:
        v = eval(r, n->kid[0]);
        eval(r, n->kid[1]);
        return v;
    case CX_COMMA:
        eval(r, n->kid[0]);
        return eval(r, n->kid[1]);
    case CX_CALL:
        return call(r, n);
    case CX_MATH:
        return math(r, n);
    default:
        return binary(r, n);
    }
}

/* ---- statements ----------------------------------------------------------------------------- */

static enum flow loop(struct c_run *r, const struct c_node *n, union c_value *result)
{
    for (bool first = true;; first = false) {
        if (r->steps_left-- == 0) {
            r->steps_left = 0;
            stop(r, n, "a loop that takes more steps than the interpreter allows");
        }
        if (r->failure)
            return FLOW_RETURN;
        if (n->kid[0] && !(first && n->test_last) && !truth(r, n->kid[0]))
            return FLOW_ON;
        enum flow flow = exec(r, n->kid[2], result);
        if (flow == FLOW_BREAK)
            return FLOW_ON;
        if (flow == FLOW_RETURN)
            return flow;
        if (n->kid[1])
            eval(r, n->kid[1]);
    }
}

static void each(struct c_run *r, const struct c_node *n, union c_value *result)
{
    for (unsigned i = 0; i < r->items && !r->failure; i++) {
        r->item = r->item_order[i];
        r->frame[r->item_slot].i = r->item;
        exec(r, n->kid[0], result);
    }
    r->item = 0;
    r->phase++;
}

static enum flow exec(struct c_run *r, const struct c_node *n, union c_value *result)
{
    enum flow flow = FLOW_ON;
    switch (n->op) {
    case CX_BLOCK:
        for (const struct c_node *s = n->kid[0]; s && flow == FLOW_ON; s = s->next)
            flow = r->failure ? FLOW_RETURN : exec(r, s, result);
        return flow;
    case CX_IF:
        if (truth(r, n->kid[0]))
            return exec(r, n->kid[1], result);
        return n->kid[2] ? exec(r, n->kid[2], result) : FLOW_ON;
    case CX_LOOP:
        return loop(r, n, result);
    case CX_BREAK:
        return FLOW_BREAK;
    case CX_CONTINUE:
        return FLOW_CONTINUE;
    case CX_RETURN:
        *result = eval(r, n->kid[0]);
        return FLOW_RETURN;
    case CX_EACH:
        each(r, n, result);
        return FLOW_ON;
    default:
        eval(r, n);
        return FLOW_ON;
    }
}

void c_run_body(struct c_run *run, const struct c_kernel *kernel)
{
    union c_value nothing;
    run->top = run->frame + kernel->slots;
    run->item_slot = kernel->item_slot;
    exec(run, kernel->body, &nothing);
}
