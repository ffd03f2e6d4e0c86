/* Loops that LLVM must not vectorize: it has a defect.

     for i in range(n):
       A[i] = if_then_else(C[i] < 0, B[i], B[k % m + i])

   A division that only some iterations reach, and whose operands are the same in all of them, is
   computed once for a vector of iterations, under the condition of its first lane; the other lanes
   then use a number that was never computed (llvm/llvm-project issue 142957; seen in LLVM 19).
   LLVM has replaced divisions by constants by then. Where an operand uses the loop variable, it
   computes the division lane by lane. */
#include <llvm-c/DebugInfo.h>

#include "ir/functor.h"
#include "ir/imm.h"
#include "codegen/llvm/cg.h"

static int is_it(void *var, tn_obj *o) { return o == var; }

/* Is the node an integer division whose divisor is not a constant? With `var`, are its operands
   also the same in all iterations of the loop over `var`? */
static int divides(void *var, tn_obj *o) {
  const tn_BinaryOp *b = TN_AS_BINARY(o);
  uint32_t t = o->type_index;
  int64_t c;
  bool kind = t == TN_TI_Div || t == TN_TI_Mod || t == TN_TI_FloorDiv || t == TN_TI_FloorMod;
  if (!b || !kind || !ir_is_integral(b->dtype) || tir_as_int((tn_obj *)b->b, &c)) return 0;
  if (!var) return 1;
  int uses = tn_post_order(b->a, is_it, var);
  if (!uses) uses = tn_post_order(b->b, is_it, var);
  return uses < 0 ? -1 : !uses;
}

/* Does the node evaluate such a division in some iterations only? 2 ends the walk. */
static int guards_division(void *var, tn_obj *o) {
  const void *parts[2] = {NULL, NULL};
  const tn_IfThenElse *s = TN_AS(IfThenElse, o);
  const tn_Call *choice = tir_as_call(o, TIR_OP_if_then_else) ? (const tn_Call *)o : NULL;
  if (s) parts[0] = s->then_case, parts[1] = s->else_case;
  if (choice) parts[0] = tn_arr_obj(choice->args, 1), parts[1] = tn_arr_obj(choice->args, 2);
  if (TN_AS(And, o) || TN_AS(Or, o)) parts[0] = TN_AS_BINARY(o)->b;
  for (int i = 0; i < 2; ++i) {
    int found = parts[i] ? tn_post_order(parts[i], divides, var) : 0;
    if (found) return found < 0 ? -1 : 2;
  }
  return 0;
}

int cg_mark_loop(cg_fn *f, LLVMValueRef latch, const tn_Var *var, const tn_stmt *body) {
  void *v = (void *)(uintptr_t)var;
  int any = tn_post_order(body, divides, NULL); /* rare: the other walk is made then only */
  int found = any > 0 ? tn_pre_order(body, guards_division, v) : any;
  if (found <= 0) return found;
  static const char name[] = "llvm.loop.vectorize.enable", kind[] = "llvm.loop";
  LLVMContextRef ctx = f->m->ctx;
  LLVMMetadataRef off[] = {LLVMMDStringInContext2(ctx, name, sizeof name - 1),
                           LLVMValueAsMetadata(LLVMConstInt(LLVMInt1TypeInContext(ctx), 0, 0))};
  LLVMMetadataRef self = LLVMTemporaryMDNode(ctx, NULL, 0);
  LLVMMetadataRef both[] = {self, LLVMMDNodeInContext2(ctx, off, 2)};
  LLVMMetadataRef node = LLVMMDNodeInContext2(ctx, both, 2);
  LLVMMetadataReplaceAllUsesWith(self, node); /* a loop's node names itself */
  LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(ctx, kind, sizeof kind - 1),
                  LLVMMetadataAsValue(ctx, node));
  return 0;
}
