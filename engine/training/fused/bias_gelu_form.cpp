#include "fused/bias_gelu_form.h"

namespace isobar {
namespace {

BiasGeluForm form_in_use = {.forward = [](const BiasGeluForward& job) { bias_gelu_cpu(job); },
                            .backward = [](const BiasGeluBackward& job) { bias_gelu_cpu(job); }};

}  // namespace

const BiasGeluForm& bias_gelu_form() { return form_in_use; }

void set_bias_gelu_form(const BiasGeluForm& form) { form_in_use = form; }

}  // namespace isobar
