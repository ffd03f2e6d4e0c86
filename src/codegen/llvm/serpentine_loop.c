/* Loops that run forwards in one call and backwards in the next ("by_turns"): where a loop reads
   more than the cache holds, what was read last is there still, and is read first.

     i8 turns[64]                         one for each of so many tasks
     t = turns[task]; turns[task] = !t
     for i in [low, high): j = t ? low + high - 1 - i : i; ...

   Iterations do not depend on each other, so that results are the same in any order; a turn that
   two threads take at once is harmless. */
#include "codegen/llvm/cg.h"

enum { TASKS = 64 };

bool cg_is_by_turns(const tn_For *s) {
  return s->annotations && tn_map_find(s->annotations, TIR_BY_TURNS);
}

static LLVMValueRef byte_of_task(cg_fn *f) {
  LLVMTypeRef bytes = LLVMArrayType2(f->m->i8, TASKS);
  LLVMValueRef all = LLVMAddGlobal(f->m->mod, bytes, "turns"), zero = cg_i32(f, 0);
  LLVMSetLinkage(all, LLVMInternalLinkage);
  LLVMSetInitializer(all, LLVMConstNull(bytes));
  LLVMValueRef task = f->task_id ? LLVMBuildAnd(f->b, f->task_id, cg_i32(f, TASKS - 1), "") : zero;
  LLVMValueRef at[2] = {zero, task};
  return LLVMBuildInBoundsGEP2(f->b, bytes, all, at, 2, "");
}

/* Is it the turn to run backwards? The next one is the other. */
static LLVMValueRef take_turn(cg_fn *f) {
  LLVMValueRef at = byte_of_task(f), turn = LLVMBuildLoad2(f->b, f->m->i8, at, "turn");
  LLVMSetOrdering(turn, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(turn, 1);
  LLVMValueRef next = LLVMBuildXor(f->b, turn, LLVMConstInt(f->m->i8, 1, 0), "");
  LLVMValueRef store = LLVMBuildStore(f->b, next, at);
  LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(store, 1);
  return LLVMBuildICmp(f->b, LLVMIntNE, turn, LLVMConstNull(f->m->i8), "");
}

/* A variable of the program that has a value of the code. */
static tn_Var *bound(cg_fn *f, const char *name, tn_dtype t, LLVMValueRef v) {
  tn_Var *var;
  TN_GETP(var, tir_var(name, t));
  return tn_pmap_put(&f->vars, var, v) ? NULL : var;
}

int cg_loop_by_turns(cg_fn *f, const tn_For *s, LLVMValueRef low, LLVMValueRef high) {
  LLVMTypeRef type = LLVMTypeOf(low);
  tn_dtype t = s->loop_var->dtype;
  LLVMValueRef back = take_turn(f), one = LLVMConstInt(type, 1, 0);
  LLVMValueRef last = LLVMBuildSub(f->b, LLVMBuildAdd(f->b, low, high, ""), one, "");
  LLVMValueRef from = LLVMBuildSelect(f->b, back, last, LLVMConstNull(type), "");
  LLVMValueRef sign = LLVMBuildSelect(f->b, back, LLVMConstAllOnes(type), one, "");
  tn_Var *first, *step, *i;
  tn_expr *place;
  TN_GET(first, bound(f, "from", t, from));
  TN_GET(step, bound(f, "sign", t, sign));
  TN_GET(i, tir_var("i", t));
  TN_GET(place, tir_add((tn_expr *)first, tir_mul((tn_expr *)step, (tn_expr *)i)));
  tn_stmt *body = (tn_stmt *)TN_NEW(LetStmt, .var = s->loop_var, .value = place, .body = s->body);
  return body ? cg_loop(f, i, low, high, one, body) : -1;
}
