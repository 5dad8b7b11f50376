"""The table of gaps: what is missing, where, and why; docs/gaps.md shows it."""

from __future__ import annotations

from mindtorch.engine.kernel_gaps import KERNEL_GAPS, Gap

GAPS: tuple[Gap, ...] = (
    *KERNEL_GAPS,
    Gap("feature", "mindspore_lite: settings dequant_strategy, enable_encode=false, smooth_alpha, "
        "[registry], [ascend_context] and those of C code on several cores, of several models or "
        "shapes", "all",
        "refused by name; dynamic quantisation is of products and embeddings (docs/lite.md)"),
    Gap("feature", "mindspore_lite: quantised convolutions of several groups that are not one for "
        "each channel, sums and means of 8 bits", "all",
        "such convolutions, sums and means are of float32"),
    Gap("feature", "mindspore_lite: TFLite's control flow, recurrent layers, custom operators and "
        "16-bit activations; Caffe's layers of detection, of recurrence and of training", "all",
        "the converter names the operator or layer (docs/lite.md)"),
    Gap("feature", "mindspore_lite: TF and PYTORCH files, other layouts than the file's, "
        "encrypted Lite files, float16 arithmetic, other targets than the CPU", "all",
        "refused by name; modules are converted by Converter.convert_module; of a preference "
        "for float16 a warning says that sums are of float32"),
    Gap("feature", "mindspore_lite: training, callbacks of nodes, settings in files, "
        "MindSpore's own .ms files", "all",
        "raise or are absent; .ms files here are of a format of our own (docs/design/016-lite.md)"),
    Gap("feature", "CUDA graphs of optimizers and of whole steps", "cuda",
        "torch.compile records what lies between two host calls, and optimizers' steps are such; "
        "annotations of graphs raise, memory of graphs is not shared"),
    Gap("feature", "tensor cores and cuDNN", "cuda",
        "products of float16, bfloat16 and tf32 need cuBLAS (cupy), convolutions cuDNN (PyTorch's "
        "wheels have it) or cuBLAS over written windows, else an implicit product of our own; "
        "attention, recurrent layers and norms are our kernels, without tensor cores"),
    Gap("feature", "several CUDA devices in one process", "cuda",
        "written, and run on two devices of the simulator: copies between devices go through the "
        "host, DataParallel runs on one; NCCL (cupy's) is under torch.distributed and DDP, send "
        "and recv go through the host"),
    Gap("feature", "random numbers of torch's CUDA generator", "cuda",
        "masks and initial weights are the CPU's numbers; torch.cuda.random.use_philox() draws "
        "them on the device, in another order than torch, whose numbers depend on the card; "
        "multinomial, poisson, gamma and probabilities in tensors are the CPU's"),
    Gap("feature", "sparse tensors", "cuda", "their indices and values are made on the CPU"),
    Gap("feature", "DLPack without cupy", "cuda", "raises; __cuda_array_interface__ needs nothing"),
    Gap("feature", "several GPUs, NCCL, and cards before Hopper", "cuda",
        "never run: one H200 was there, docs/gpu.md has what it showed"),
    Gap("feature", "fusion into products and other reductions in compiled calls", "all",
        "chains of elementwise ops are one loop, which makes their sums over the last axes, too"),
    Gap("feature", "symbolic sizes in lazy mode and under run --graph", "all",
        "each size is bound by itself; sizes that do not come again run op by op; Python runs "
        "at each call, so little could be saved (docs/design/009)"),
    Gap("feature", "gradients of gradients through a compiled call that draws or writes", "all",
        "raises, as torch.compile does; of other calls they are computed by calling them again"),
    Gap("feature",
        "errors of indices, weights of draws and divisions by zero in compiled calls: "
        "where they are raised",
        "all",
        "where eager code raises, but: after an optimizer's step, and in lazy mode where ops "
        "that wait computed the index, at the end of the compiled part, of which nothing is done "
        "then; of results that nobody uses not at all"),
    Gap("feature", "compiled calls: _base of views that they return and that require gradients",
        "all", "None, and the memory is shared; views without gradients have theirs"),
    Gap("feature", "compiled calls beside one another in one backward pass", "all",
        "each adds up its own gradients first, so that a sum of three may differ in its last bit"),
    Gap("feature", "compiled calls: library functions that are replaced after the capture", "all",
        "torch.nn.functional.relu = mine is not seen, nor is what is set on torch.nn.Linear; "
        "torch.compiler.reset() forgets captures"),
    Gap("feature", "compiled calls: warnings of library functions", "all",
        "given when the call is captured and not again, also where they are errors by then"),
    Gap("feature", "compiled calls: what is set on metaclasses and members of enums, __bases__, "
        "classes registered with an ABC later", "all",
        "not watched; torch.compiler.reset() forgets captures"),
    Gap("feature", "compiled calls: a result that is written to before its backward pass", "all",
        "the pass has what it needs in memory of its own and gives the gradient, where eager "
        "code raises"),
    Gap("feature", "torch.autograd.forward_ad: requires_grad of dual tensors", "all",
        "True, since the tape records them; tangents are computed when they are asked for, as the "
        "transpose of the transposed product, and of nothing under inference_mode"),
    Gap("feature", "torch.autograd.forward_ad: writes to dual tensors of tensors that require "
        "gradients", "all", "asking for a tangent raises then; make the dual tensor of a clone"),
    Gap("feature", "torch.func.hessian: no_grad inside of the function", "all",
        "stops both derivatives; torch's outer one pushes tangents, which no_grad leaves alone"),
    Gap("function", "torch.func.rearrange, torch.func.debug_unwrap", "all",
        "einops' patterns are not parsed; the inner tensors of transformations are not shown"),
    Gap("feature", "vmap rules of recurrent layers, ctc_loss, embedding_bag, "
        "masked_scatter and searchsorted", "all", "these ops run on one example after another"),
    Gap("feature", "embedding(scale_grad_by_freq=True) inside vmap(grad(...))", "all",
        "the frequencies are counted on the host"),
    Gap("feature", "a kernel for LSTM(proj_size=...)", "all",
        "projected layers are composed of ops, with a Python loop over time: right, but slow"),
    Gap("feature", "sparse tensors: slices, torch.masked, optimizers of sparse parameters, "
        "products of batches in CSR, semi-structured layouts, linalg of them", "all",
        "the five layouts are made, converted, added, multiplied and saved; others raise"),
    Gap("feature", "sparse tensors: gradients of compressed layouts outside of what is stored",
        "all", "by a matrix in CSR the gradient holds the stored elements, as by one in COO; "
        "PyTorch's products in CSR give a dense one"),
    Gap("feature", "MaskedTensor: sparse data, products of matrices, writes in place", "all",
        "elementwise functions, reductions, softmax, shapes and gradients are there; others raise"),
    Gap("feature", "random numbers of complex32; torch._scaled_mm of float8", "all",
        "raise; both kinds of types are stored, moved, converted, compared and kept in files as in "
        "torch, and complex32 is added and multiplied through complex64"),
    Gap("feature", "torch.cuda.jiterator", "cuda", "CUDA C++ is not compiled; kernels are numba's"),
    Gap("feature", "profiles of devices, of floating-point operations and of modules", "all",
        "torch.profiler times ops, nodes and named blocks on the CPU, with shapes, bytes, stacks"),
    Gap("feature", "profiler rows of torch.addmm, baddbmm and other composed functions", "all",
        "a profile has the ops that they are composed of (matmul and mm, add)"),
    Gap("feature", "torch.compile(backend=<function>): graph breaks, recurrent layers, "
        "MultiheadAttention, functions of torch.autograd.Function; torch._dynamo.export", "all",
        "a call that is not one graph of torch's functions runs op by op, and a warning says why; "
        "export raises (torch.export.export is there)"),
    Gap("argument", "torch.compile(mode, options)", "all",
        "checked; there is one way to compile"),
    Gap("argument", "torch._dynamo.mark_dynamic(min, max)", "all",
        "a hint: lengths are not checked against them, and a length that is used as a number is "
        "captured by itself where torch raises ConstraintViolationError"),
    Gap("feature", "torch.set_flush_denormal(True) on other processors than x86-64", "all",
        "denormals are kept; answers False"),
    Gap("feature", "recurrent layers in the lower precision of autocast", "all",
        "LSTM, GRU and RNN run in float32 inside of autocast"),
    Gap("feature", "autocast of other devices than the CPU and CUDA", "all",
        "is remembered and has no effect"),
    Gap("feature", "fully_shard and FullyShardedDataParallel of modules on CUDA", "all",
        "raise: parameters are gathered in the memory of the host"),
    Gap("argument", "fully_shard(dp_mesh_dims); set_custom_all_gather, set_custom_reduce_scatter, "
        "set_post_optim_event, set_symm_mem, share_comm_ctx of FSDPModule", "all",
        "raise or are not there: there is one way to exchange parameters, and no streams"),
    Gap("argument", "FullyShardedDataParallel: MixedPrecision over batch norms, "
        "keep_low_precision_grads, register_comm_hook, StateDictType.LOCAL_STATE_DICT", "all",
        "raise; SHARDED_STATE_DICT holds DTensors, where PyTorch without device_mesh has "
        "ShardedTensors"),
    Gap("feature", "torch.distributed: rpc; of elastic: agent, events, metrics, timer, "
        "rendezvous handlers of one's own; _composable.replicate of DTensors",
        "all", "there are groups, collectives, torchrun, DistributedDataParallel and ZeRO-1, over "
        "MPI or sockets; other names that libraries import raise when used"),
    Gap("feature", "torch.distributed.tensor.experimental.register_sharding of aten's inner "
        "overloads (_softmax); DTensor.redistribute to another mesh", "all",
        "raise; rules of custom operators and of functions with an overload's name can be set"),
    Gap("feature", "context_parallel: attn_mask, dropout_p, nn.MultiheadAttention, flex_attention, "
        "load balancers of one's own, second derivatives, meshes of several axes", "all",
        "raise; scaled_dot_product_attention with is_causal or without is over all parts"),
    Gap("feature", "sharding rules of convolutions but along samples, batch_norm, cumsum and sort "
        "along the cut, linear algebra, fft, recurrent layers, sampling of grids", "all",
        "inputs are gathered in every process, which a warning says once for each op"),
    Gap("argument", "DeviceMesh(backend_override)", "all", "raises: groups have one backend"),
    Gap("argument",
        "torch.distributed.pipelining: PipelineStage(get_mesh), DTensors between stages", "all",
        "raise: plain tensors go between stages; input_args, output_args and their gradients are "
        "not looked at, since messages tell shapes"),
    Gap("argument", "torch.distributed.checkpoint: async_save(PROCESS), "
        "FileSystemWriter(_extensions), "
        "FileSystemReader(_extension_registry)", "all",
        "raise: a thread writes, entries are written as they are"),
    Gap("feature", "torch.distributed.checkpoint: fsspec and quantized storages, meta tensors in "
        "load, BroadcastingTorchSaveReader, DynamicMetaLoadPlanner", "all",
        "folders of this machine and safetensors files are there; a file of torch.save becomes a "
        "checkpoint by torch_save_to_dcp"),
    Gap("feature", "torch.distributed.pipelining.pipeline: branches on data, sizes that change",
        "all", "the module is traced with the sizes of its example (as torch.export does); "
        "PipelineStage takes parts that were cut by hand"),
    Gap("argument", "torch.distributed.launcher.LaunchConfig: logs_specs, start_method but spawn, "
        "log_line_prefix_template, metrics_cfg, event_log_handler, numa_options, "
        "signals_to_handle, shutdown_timeout", "all",
        "raise or are not there; torchrun has --redirects, --tee and --log-dir"),
    Gap("argument", "torchrun: --rdzv-backend=etcd, etcd-v2; --max-restarts of several machines "
        "without c10d", "all", "machines meet at a store that one of the launchers keeps (c10d)"),
    Gap("feature", "__torch_dispatch__: steps of einsum, one_hot, cross_entropy(label_smoothing), "
        "kl_div, cosine_similarity, cdist, torch.linalg, torch.fft, recurrent layers, "
        "MultiheadAttention", "all",
        "seen as other overloads than torch's, or as mindtorch::name where torch has no such op; "
        "so are the gradients of pow(tensor, tensor), prod, addcdiv, as_strided and others without "
        "a formula. Results and gradients are as ever"),
    Gap("feature", "__torch_dispatch__ under autocast and vmap", "all",
        "the casts and the ops for all examples are seen; new tensors are not"),
    Gap("argument", "_make_wrapper_subclass(memory_format, _extra_dispatch_keys); "
        "TorchDispatchMode(_dispatch_key)", "all", "raise: there are no dispatch keys"),
    Gap("feature", "torch.export: unflatten, draft_export, ShapesCollection, register_dataclass, "
        "default_decompositions, CustomDecompTable", "all",
        "raise: export, run_decompositions with a dict, save, load and module() are there"),
    Gap("argument", "torch.export.export: branches on data, Dim arithmetic, "
        "preserve_module_call_signature", "all",
        "raise (torch.cond and while_loop are there, without numbers that are carried); a length "
        "of 1 is taken as others are, strict=True traces as strict=False"),
    Gap("feature", "torch.export: nodes of graphs", "all",
        "inside MultiheadAttention and functions that no overload stands for the steps are ours; "
        "blocks of no_grad are detach nodes; stack_trace and nn_module_stack are not in node.meta"),
    Gap("feature", "torch.export.run_decompositions: writes through views by as_strided, diagonal, "
        "expand or unfold, and random writes", "all", "raise: the operator has no functional form"),
    Gap("feature", "torch.export.load and save: operators that are not here, scan, map, objects of "
        "TorchScript, tensors of other devices and subclasses", "all",
        "raise: the error names the operator, or what it is"),
    Gap("feature", "torch.ao.quantization.quantize_pt2e (prepare_pt2e, convert_pt2e, "
        "XNNPACKQuantizer, X86InductorQuantizer)", "all",
        "not in PyTorch 2.13: they moved to torchao, which is another package"),
    Gap("argument", "FlopCounterMode(custom_mapping), register_flop_formula", "all",
        "raise: what is counted is our own ops (products, linear layers, convolutions)"),
    Gap("argument", "create_selective_checkpoint_contexts(policy_fn_or_list)", "all",
        "warns once: everything is computed again, whatever a policy prefers"),
    Gap("feature", "torch.classes", "all", "there are no libraries of C++"),
    Gap("feature",
        "torch.ao.quantization: reference modules (convert(is_reference=True)), quint4x2, "
        "torch.ao.nn.quantizable (quantised LSTM and MultiheadAttention), torch.ao.nn.sparse, "
        "torch.ao.ns, torch.ao.pruning, quantize_jit, dynamic convolutions, ConvAdd2d, "
        "ConvAddReLU2d, LinearLeakyReLU, LinearTanh",
        "all", "LSTM and GRU are quantised dynamically, see docs/quantization.md"),
    Gap("feature",
        "torch.ao.quantization.quantize_fx: backend_config, equalization, custom configs, "
        "functional convolutions and linear maps, sums with numbers, float16 activations",
        "all", "settings raise; such calls stay in floating point between dequantize and quantize"),
    Gap("feature", "state_dict and files of dynamically quantised LSTM, GRU and cells", "all",
        "hold objects of ours; torch's hold objects of C++, which are not read"),
    Gap("feature", "torch.fx: containers in concrete_args", "all",
        "graphs are traced, matched, replaced, divided, pickled, run and printed"),
    Gap("feature", "__torch_function__ of objects that are no tensors", "all",
        "asked once a program defines a class of tensors or a TorchFunctionMode; until then our "
        "functions are called directly, for speed, and refuse them"),
    Gap("feature", "mpiexec: a rank that calls os._exit(0) before the others end", "all",
        "the others are ended at once, but mpiexec's own status is 0; torchrun and spawn fail"),
    Gap("feature", "backends of torch.distributed other than gloo, mpi and nccl", "all",
        "gloo and mpi go through MPI where it is installed, gloo also over sockets; nccl needs a "
        "GPU and cupy; ucc and xccl raise"),
    Gap("feature", "torch.distributed: tensors of different sizes in one all_reduce", "all",
        "not noticed: MPI does not compare them, and the result is undefined; gloo raises on one "
        "of the ranks"),
    Gap("feature", "DistributedDataParallel: mixed_precision, delay_all_reduce_named_params, "
        "sparse gradients", "all", "buckets are dense and of the parameters' types"),
    Gap("argument", "ZeroRedundancyOptimizer(overlap_with_ddp, parameters_as_bucket_view)", "all",
        "the first raises; the second says how torch lays out memory, and changes no value"),
    Gap("feature", "bits of Wishart samples", "all",
        "torch draws valid samples anew where it means the singular ones"),
    Gap("feature", "conj, mH and adjoint of complex tensors as views", "all",
        "the conjugate is computed at once, into memory of its own: is_conj() is False, and a "
        "write to it does not reach the tensor (docs/design/060)"),
    Gap("feature", "DeprecationWarnings of torch.jit's functions", "all",
        "script, trace, save, load, freeze and fork work without a word; torch names "
        "torch.compile and torch.export at each call"),
    Gap("feature", "register_backward_hook (the deprecated one) of Linear", "all",
        "grad_input is (input, weight, bias): our layer is one op, torch's is addmm of weight.t()"),
    Gap("feature", "affine_grid: a second backward pass without retain_graph", "all",
        "raises, as for every product; torch's node of its own keeps sizes alone"),
    Gap("feature", "torch.lobpcg: digits and signs of the vectors", "all",
        "those of eigh, which finds all of them; torch stops an iteration at a tolerance"),
    Gap("feature", "threshold_ of a tensor whose elements share memory", "all",
        "raises, as other writes do; torch lets this one pass"),
    Gap("feature", "batch_norm whose running statistics have tangents", "all",
        "not refused: they count as constants, as under reverse mode"),
    Gap("feature", "swap_tensors of a tensor that has views or is saved for backward", "all",
        "done; torch counts the references and refuses. An old backward pass raises in both"),
    Gap("feature", "addbmm_ of a tensor smaller than the result", "all",
        "RuntimeError, as for addmm_ and baddbmm_; torch's addbmm_ alone resizes the tensor"),
    Gap("feature", "gradient of as_strided_scatter by its first argument as PyTorch's", "all",
        "ours is the derivative; PyTorch 2.13's is 0 where it should pass, failing its gradcheck"),
    Gap("feature", "bits of a sum of 16-bit floats over axes apart in memory, on threads", "all",
        "rounded once; torch rounds each part of 32,768 elements or more to one number"),
    Gap("feature", "bits of norms of order 2 over axes apart in memory, and of other orders", "all",
        "added in float64 or by blocks; of order 2 over one axis, or axes side by side, as torch"),
    Gap("feature", "views made under no_grad as new leaves", "all",
        "torch says that they require gradients; here they do not"),
    Gap("feature", "strides of torch.linalg.lstsq of matrices with more rows than columns",
        "all", "the columns lie together; torch's result is a part of longer columns"),
    Gap("argument", "mindspore.train.ROC(class_num > 1)", "all",
        "NotImplementedError: one curve for each class, called for each by itself"),
    Gap("feature", "huber_loss of two floating types", "all",
        "computed; torch's kernel takes one type only"),
    Gap("feature", "strides of gradients before they reach a parameter", "all",
        "decided by our formulas, torch's by its own; a parameter's .grad lies as in torch"),
    Gap("feature", "select_scatter, slice_scatter, diagonal_scatter of a tensor with gaps", "all",
        "the result has none; torch's has the input's: only stride() shows it"),
    Gap("feature", "backward through unique, histogram and bincount", "all",
        "their results have no history; torch's claim one, and raise when it is followed"),
    Gap("feature", "backward through floor_divide and //", "all",
        "zeros, as MindSpore has it, whose tensors share the operators; torch raises"),
    Gap("feature", "the text of errors for tensors of meta and the CPU together", "all",
        "RuntimeError as for any two devices; torch has another text, or reads what is not there"),
    Gap("feature", "bool in subtraction (1 - mask), abs, //, % and **", "all",
        "computed as MindSpore does, whose tensors share the ops; torch raises"),
    Gap("feature", "x[indices] = y, x[mask] = y of another type", "all",
        "y is converted, as in x[2:3] = y; torch refuses it"),
    Gap("feature", "last bits of products of complex numbers", "all",
        "a part's two products and their sum are rounded together, so x * x.conj() has an "
        "imaginary part of some 1e-7; torch rounds each, but in the last elements of an array"),
    Gap("feature", "zeros of two signs in maximum, minimum and clamp by a tensor", "all",
        "the first's sign, as torch's of short and of strided arrays; its vectors take the other"),
    Gap("feature", "layer_norm and group_norm of rows whose squares overflow", "all",
        "0 where torch has nan"),
    Gap("feature", "nan in multi_margin_loss, multilabel_margin_loss and cdist(p=inf)", "all",
        "the result is nan; torch's comparisons pass over it (cdist(p=0): counts as a difference)"),
    Gap("feature", "view(dtype) in a graph", "all",
        "raises; a graph's tensors have one type each"),
    Gap("feature", "torch.func.jvp where torch's forward formula is another", "all",
        "the product is a transpose: 0 for embedding's padding_idx, nan for std and norm at 0, a "
        "triangle alone in triangular_solve, the symmetric part in cholesky and eigh"),
    Gap("feature", "gradient of amax() over all axes where nan is the extreme", "all",
        "all nan share it, as max() has it; torch's amax gives nan everywhere"),
    Gap("feature", "requires_grad of first gradients that do not depend on the input", "all",
        "False for nll_loss, replication_pad3d, rrelu and a convolution's bias; torch's follow it, "
        "to zeros"),
    Gap("feature", "x.eq_(y) and its like: the gradient of y", "all",
        "None, where torch gives zeros; x's is zeros"),
    Gap("feature", "_version of tensors made in inference mode", "all", "0; torch raises"),
    Gap("feature", "bit-equal nn.init.orthogonal_", "all", "values depend on the LAPACK library"),
    Gap("feature", "bits of erfinv of float32 below 2**-12 that are no multiples of 2**-24", "all",
        "Intel's MKL, which torch calls, gives the farther neighbour for 1 to 31 of 10,000 inputs, "
        "by the processor's maker and instructions; they are listed for all others, and so "
        "nn.init.trunc_normal_ has the bits that torch's has on the same processor"),
    Gap("feature", "bits of x ** 3, x ** -2 and x ** -0.5 in bfloat16", "all",
        "rounded once; torch rounds on the way too (-0.5: in the last elements of an array, how "
        "many depends on the processor), as in the gradient of normalize(p=0.5)"),
    Gap("module", "CrossMapLRN2d's gradient as PyTorch's", "all",
        "PyTorch sums over other channels than in its forward; ours is the derivative"),
    Gap("feature", "gradients of gamma, beta and Dirichlet variates as PyTorch's approximations",
        "all", "ours are the quantile's derivative in double precision; PyTorch's series and "
        "rational functions differ from it by up to some 1e-4"),
    Gap("module", "BatchNorm of one example whose gradient has another order of axes, as PyTorch",
        "all", "PyTorch 2.13 reads a gradient of strides (8, 1, 64, 8) in the wrong order"),
    Gap("feature", "torch.onnx.export: reports, ONNX_ATEN, translations and opsets of one's own",
        "all", "raise; so do ops without a writer (docs/design/011-onnx.md), lengths that hang on "
        "data, random numbers, packed sequences and while_loop; of torch.cond both branches are "
        "computed and one is selected, in MindIR and Lite files, too"),
    Gap("feature", "mindtorch.lite.micro: ops without a C writer, types but float32 and int8",
        "all", "raise, with the op and the line (docs/micro.md lists what is written); so do "
        "volumes, packed sequences, random numbers (dropout in training), training of recurrent "
        "layers, optimizers but SGD, Adam and AdamW; calibration is MAX_MIN"),
    Gap("argument", "mindspore.SummaryCollector: collect_tensor_freq, export_options, "
        "max_file_size, collect_landscape, collect_dataset_graph", "all",
        "raise; the files are TensorBoard's, and mindtorch insight has no landscapes"),
    Gap("feature", "mindtorch insight: MindInsight's stop, restart and --workspace", "all",
        "the server runs in the foreground and keeps nothing but the files it shows"),
    Gap("feature", "SummaryWriter.add_onnx_graph", "all",
        "the graph in an ONNX file is not drawn; add_graph draws our own graphs"),
    Gap("feature", "fvcore.nn.FlopCountAnalysis and others that read TorchScript's graphs",
        "all", "torch.jit._get_trace_graph raises; torch.utils.flop_counter counts"),
    Gap("feature", "tensordict, torchrl, torchao, torch_geometric's EdgeIndex, Index and "
        "HashTensor", "all",
        "they import the insides of torch's compiler (torch._inductor, torch._library, Triton's "
        "helpers), of vmap, of torch.utils._contextlib and of DataLoader's workers; "
        "__torch_dispatch__ itself is there, and graphs with plain edge_index tensors run"),
    Gap("feature", "torchvision: quantized operators (qnms, qroi_align), io.decode_* and encode_*",
        "all", "no quantized tensors; images are read by Pillow, as torchvision's data sets do"),
    Gap("argument", "interpolate(antialias=True) of floats to one column as in PyTorch", "all",
        "PyTorch 2.13 gives every row of the result the first row's values; ours are resized"),
    Gap("argument", "EmbeddingBag(scale_grad_by_freq=True) as in PyTorch's CPU kernel", "all",
        "divides by the frequency of the row itself, as documented; that kernel takes another's"),
    Gap("argument", "torch.gather(sparse_grad=True)", "all",
        "warns: the gradient's values are the same, but it is a dense tensor"),
    Gap("feature", "torch.fx.passes: graph_drawer, splitter, reinplace, fake_tensor_prop", "all",
        "replace_pattern, SubgraphMatcher, ShapeProp, split_module, PassBase, PassManager are "
        "there; a pickled GraphModule is one of mindtorch's, for mindtorch"),
    Gap("feature", "torch.jit: graphs of TorchScript; code and files of our own scripts", "all",
        "scripts and traces are compiled from Python, and save pickles them for our load; real "
        "torch's files are loaded, run, trained and saved again, without quantized operators"),
    Gap("feature", "torch.ScriptMethod, CompilationUnit, FileCheck, AnyType and the other types of "
        "TorchScript in torch", "all",
        "there is no interpreter of scripts: the classes can be mentioned and raise when made"),
    Gap("module", "torch.ao.nn.quantized.reference, torch.ao.nn.qat.dynamic, torch.nn.qat.dynamic, "
        "torch.nn.quantizable, torch.ao.nn.quantized.modules.rnn, torch.quantization.fx, "
        "torch.quantization.quantize_jit", "all",
        "not written; torch.ao.quantization has what is, see docs/quantization.md"),
    Gap("function", "torch.ao.nn.intrinsic.ConvAdd2d, ConvAddReLU2d, LinearLeakyReLU, LinearTanh; "
        "torch.ao.nn.quantized.LSTM, MultiheadAttention, torch.nn.quantized.LSTM; "
        "torch.ao.quantization.PerAxis, PerBlock and the other granularities", "all",
        "not written: sums and activations are modules of their own beside the quantised ones"),
    Gap("module", "torch.cuda.tunable, torch.cuda.green_contexts, torch.backends.python_native, "
        "torch.backends.xeon, torch.xpu.graphs, torch.mtia.mtia_graph, torch.mps.profiler, "
        "torch.accelerator.graphs, torch.numa", "all",
        "they steer libraries or devices that are not used here"),
    Gap("module", "torch.monitor, torch.profiler.itt, torch.autograd.profiler_legacy, "
        "torch.profiler.python_tracer, torch.profiler.ExecutionTraceObserver", "all",
        "events and counters of PyTorch's own runtime; torch.profiler times ops and blocks"),
    Gap("module", "torch.multiprocessing.pool, torch.multiprocessing.queue, "
        "torch.multiprocessing.reductions", "all",
        "Python's own pools and queues carry tensors: torch.multiprocessing.Pool, Queue"),
    Gap("module", "torch.nn.attention.varlen, torch.nn.attention.experimental; "
        "torch.nn.functional.scaled_mm, torch.nn.functional.scaled_grouped_mm", "all",
        "kernels of CUDA; scaled_dot_product_attention takes nested tensors of lengths"),
    Gap("module", "torch.nativert, torch.nn.backends, torch.nn.cpp, torch.contrib, "
        "torch.utils.hipify, torch.utils.cpp_backtrace, torch.utils.backend_registration, "
        "torch.utils.debug_log, torch.utils.viz, torch.utils.mkldnn, torch.utils.jit, "
        "torch.utils.throughput_benchmark, torch.utils.mobile_optimizer.MobileOptimizerType", "all",
        "tools for C++, other devices and mobile phones"),
    Gap("module", "torch.utils.backcompat, torch.utils.bundled_inputs, torch.utils.file_baton, "
        "torch.utils.serialization, torch.utils.show_pickle, torch.utils.data.graph, "
        "torch.utils.data.graph_settings, torch.utils.data.backward_compatibility, "
        "torch.utils.data.argument_validation, torch.utils.data.runtime_validation", "all",
        "not written: helpers of PyTorch's own files, and of data pipes"),
    Gap("module", "torch.utils.benchmark.op_fuzzers, torch.utils.benchmark.utils.fuzzer, "
        "torch.utils.benchmark.utils.sparse_fuzzer, torch.utils.benchmark.utils.compile, "
        "torch.utils.benchmark.utils.cpp_jit, torch.utils.benchmark.utils.valgrind_wrapper", "all",
        "Timer and Compare are there; sizes are not drawn, C++ and valgrind not run"),
    Gap("module", "torch.onnx.ops, torch.onnx.testing, torch.onnx.verification, "
        "torch.sparse.semi_structured, torch.sparse.to_sparse_semi_structured, "
        "torch.compiler.config, torch.nn.modules.linear_cross_entropy", "all", "not written"),
    Gap("function", "torch.library.get_kernel, torch.library.opcheck; "
        "torch.overrides.redispatch_function, torch.overrides.enable_reentrant_dispatch", "all",
        "there is no dispatcher of C++ whose registrations could be looked at"),
    Gap("function", "torch.Tensor.to_mkldnn, torch.Tensor.index", "all",
        "raise: there are no tensors of oneDNN's layout and no first-class dimensions"),
    Gap("function", "torch.parse_ir, parse_schema, import_ir_module, cudnn_*, miopen_*, mkldnn_*, "
        "fbgemm_*, quantized_*, batch_norm_stats and other kernels of libraries by name", "all",
        "raise: they are C++ that is not here; the functions of torch.nn.functional are"),
    Gap("function", "torch.cpp, torch.testing.FileCheck, torch.utils.cmake_prefix_path, "
        "torch.utils.get_cpp_backtrace, torch.utils.ThroughputBenchmark, "
        "torch.utils.rename_privateuse1_backend, "
        "torch.utils.generate_methods_for_privateuse1_backend, torch.mps.load_metallib, "
        "torch.autograd.NestedIOFunction, torch.autograd.function.NestedIOFunction, "
        "torch.autograd.function.BackwardCFunction, torch.autograd.function.FunctionMeta, "
        "torch.utils.hooks.BackwardHook", "all",
        "parts of PyTorch's C++, and of what its own Python builds on it"),
    Gap("function", "torch.accelerator.Graph, torch.cuda.GreenContext, "
        "torch.backends.cuda.cuFFTPlanCache, torch.backends.cuda.cuFFTPlanCacheManager, "
        "torch.backends.cuda.cuFFTPlanCacheAttrContextProp, torch.backends.cuda.SDPAParams, "
        "torch.backends.cuda.cublas_workspace_size, torch.backends.cuda.cublaslt_workspace_size, "
        "torch.backends.cuda.blas_workspace_size, torch.mtia.default_stream, "
        "torch.mtia.graph_pool_handle, torch.mtia.attach_out_of_memory_observer, "
        "torch.xpu.change_current_allocator, torch.xpu.graph_pool_handle, "
        "torch.xpu.is_current_stream_capturing, torch.xpu.use_mem_pool, "
        "torch.nn.attention.register_flash_attention_impl, "
        "torch.nn.attention.activate_flash_attention_impl, "
        "torch.nn.attention.list_flash_attention_impls, "
        "torch.nn.attention.current_flash_attention_impl, "
        "torch.nn.attention.restore_flash_attention_impl, "
        "torch.nn.attention.flex_attention.FlexKernelOptions", "all",
        "memory, graphs and kernels of devices and libraries that are not used here"),
    Gap("function", "torch.autograd.profiler.emit_itt, torch.autograd.profiler.load_nvprof, "
        "torch.autograd.profiler.parse_nvprof_trace, torch.autograd.profiler.EnforceUnique, "
        "torch.autograd.profiler.KinetoStepTracker, torch.autograd.profiler.MemRecordsAcc", "all",
        "the files and events of PyTorch's own profilers; torch.profiler times ops and blocks"),
    Gap("function", "torch.export.AdditionalInputs, torch.export.Constraint, "
        "torch.export.CustomDecompTable, torch.export.default_decompositions, "
        "torch.export.ExportBackwardSignature, torch.export.FlatArgsAdapter, "
        "torch.export.ModuleCallEntry, torch.export.ModuleCallSignature, "
        "torch.export.UnflattenedModule, torch.compiler.set_enable_guard_collectives, "
        "torch.compiler.load_compiled_function, torch.compiler.save_cache_artifacts, "
        "torch.compiler.load_cache_artifacts, torch.compiler.keep_portable_guards_unsafe, "
        "torch.onnx.InputObserver, torch.optim.swap_in_optimizer_params_and_state, "
        "torch.fx.graph.CodeGen, torch.fx.graph_module.reduce_graph_module, "
        "torch.fx.graph_module.reduce_package_graph_module, torch.fx.proxy.MetaProxy, "
        "torch.fx.proxy.ParameterProxy, torch.fx.proxy.Scope, "
        "torch.fx.proxy.ScopeContextManager", "all",
        "not written: programs and graphs here are traced, kept and guarded in another way"),
    Gap("function", "torch.sparse.SparseSemiStructuredTensor, "
        "torch.sparse.SparseSemiStructuredTensorCUTLASS, "
        "torch.sparse.SparseSemiStructuredTensorCUSPARSELT, torch.sparse.as_sparse_gradcheck, "
        "torch.serialization.StorageType, torch.serialization.normalize_storage_type, "
        "torch.serialization.storage_to_tensor_type, torch.serialization.validate_cuda_device, "
        "torch.serialization.validate_hpu_device, torch.utils.checkpoint.CheckpointFunction, "
        "torch.utils.checkpoint.GraphExecGroup, torch.utils.checkpoint.SAC_IGNORED_OPS, "
        "torch.utils.data.runtime_validation_disabled, "
        "torch.utils.benchmark.CallgrindStats, torch.utils.benchmark.CopyIfCallgrind, "
        "torch.utils.benchmark.FunctionCount, torch.utils.benchmark.FunctionCounts, "
        "torch.utils.benchmark.Fuzzer, torch.utils.benchmark.FuzzedParameter, "
        "torch.utils.benchmark.FuzzedTensor, torch.utils.benchmark.FuzzedSparseTensor, "
        "torch.utils.benchmark.ParameterAlias, torch.utils.benchmark.Colorize, "
        "torch.ao.nn.quantized.MultiheadAttention, torch.nn.quantized.MultiheadAttention, "
        "torch.distributed.optim.as_functional_optim", "all",
        "not written: what the public functions of these modules are made of in PyTorch"),
    Gap("module", "torch.package", "all", "its names import; archives of code raise"),
    Gap("feature", "torch.nested in the strided layout: views and most functions", "all",
        "lists of tensors: arithmetic, linear, softmax, products, padding; others raise"),
    Gap("feature", "torch.nested in the jagged layout: attention masks, cat and cumsum along the "
        "ragged axis, padding of transposed tensors, flex_attention, torch.compile", "all",
        "raise; elementwise functions, layers, products, reductions, softmax and attention are "
        "there. No overload of such tensors is seen by __torch_dispatch__ but those of their "
        "values; from_jagged's result is a leaf where the values are"),
    Gap("feature", "torch.utils.data.datapipes: data frames, checks of samples' types, snapshots, "
        "decoders of sound and video", "all",
        "raise or are absent: torcharrow is no longer made, and torchdata, which took snapshots, "
        "has no pipes any more"),
    Gap("argument", "mindspore.jit(jit_level, dynamic, backend, ...)", "all",
        "checked; there is one way to compile, a branch on a value ends one compiled part"),
    Gap("feature", "mindspore: HYBRID_PARALLEL, shard(parameter_plan), interleaved pipeline "
        "stages, strategy files of protobuf; of AutoParallel: comm_fusion, transformer_opt, "
        "hsdp(optimizer_level='level3'), norms and dumps; AUTO_PARALLEL of other layers than "
        "Dense, and beside slices of optimizers", "all",
        "raise or are not there; a search cuts pairs of Dense layers or divides samples, shard() "
        "of functions, cells and primitives computes parts of their inputs with whole parameters "
        "(torch.distributed.tensor cuts any)"),
    Gap("feature", "mindspore: enable_parallel_optimizer in pipelines, with "
        "optimizer_weight_shard_size", "all",
        "raise: states are whole in a stage, slices are of all processes"),
    Gap("feature", "mindspore: enable_parallel_optimizer of optimizers that need whole parameters "
        "(Lamb, LARS, ASGD, a user's own) and under a loss scale", "all",
        "raise: an update is of this process's rows"),
    Gap("feature", "mindspore.communication.init('nccl') and MPI itself", "all",
        "'mccl' is our own collectives over sockets; launchers' variables give rank and size"),
    Gap("feature", "names of element types in MindSpore's text", "all",
        "types are torch's objects: str(mindspore.float32) is torch.float32"),
    Gap("function", "mindspore.Tensor: choose, to_coo, to_csr, unique_with_pad, offload", "all",
        "AttributeError; numpy.choose and COOTensor are there"),
    Gap("feature", "mindspore.Tensor: memory shared by asnumpy(), Tensor(x), astype to its type",
        "all", "copies here: what was read before a step keeps its values"),
    Gap("feature", "gradients of whole-number inputs in value_and_grad", "all",
        "zeros of the input's type, where MindSpore gives whole numbers: the tape follows "
        "floating-point numbers"),
    Gap("feature", "bits of MindSpore's random initial values, masks and orders", "all",
        "same distributions, drawn by torch's generator (numpy's in data pipelines)"),
    Gap("module", "mindspore.nn: AdaFactor, AdaSum, thor, sparse gradients of LazyAdam and FTRL",
        "all", "gradients are dense; LazyAdam computes what Adam does"),
    Gap("argument", "mindspore.set_context(device_target='GPU' or 'Ascend')", "all",
        "raises: the facade's tensors are made on the CPU"),
    Gap("feature", "amp level O1: ops of the white list outside of cells", "all",
        "MatMul, BatchMatMul and Ger are lowered inside of the listed cells only"),
    Gap("feature", "data cache: other machines and systems than Linux, TLS, NUMA nodes, rows of "
        "namedtuples and of images with a palette", "all",
        "rows are in shared memory (docs/design/024-data-cache.md); such rows raise; "
        "--list_sessions says n/a for Numa hit"),
    Gap("argument", "mindspore.dataset.DatasetCache(num_connections)", "all",
        "warns that it has no effect: rows are read without connections"),
    Gap("feature", "mindspore.dataset: random numbers of mindspore's and torch's own functions in "
        "a map", "all", "random, numpy.random and the transforms' numbers are the same for any "
        "number of workers; numbers of mindspore.ops and torch in a function are the process's"),
    Gap("module", "mindspore.scipy.optimize.minimize, line_search; mindspore.profiler, parallel",
        "all", "not written; scipy itself and torch.profiler are there"),
    Gap("argument", "mindspore.numpy: pad by statistics or ramps, gradient(edge_order=2)", "all",
        "raise; all other functions have MindSpore's values, shapes and types"),
    Gap("module", "mindspore.ops: csr_* and coo_* functions, boxes, quantization, Ascend's kernels",
        "all", "not written: the AttributeError says what to use; COOTensor, CSRTensor and "
        "RowTensor hold values and are converted and multiplied"),
    Gap("module", "mindspore.ops: 341 of 600 primitive classes (Apply..., Sparse..., Random...)",
        "all", "updates of optimizers, sparse and random primitives; functions stand for most"),
    Gap("feature", "mindspore.nn.Optimizer._parameters in a subclass", "all",
        "holds all registered parameters by name; self.parameters is MindSpore's tuple"),
    Gap("module", "mindspore: obfuscation, strategies of checkpoints, export_split_mindir", "all",
        "the AttributeError says what to use; export, load and checkpoints are there"),
    Gap("argument", "mindspore.export(file_format='AIR', dataset, obf_config, incremental)", "all",
        "AIR is Ascend's; a pipeline is no part of the file, and nothing is obfuscated"),
    Gap("argument", "mindspore.export: random and complex numbers, lengths computed from open ones",
        "all", "version 1 of MindIR has no numbers that hang on lengths; the error names the op"),
    Gap("feature", "mindtorch.onnx.load: texts, sparse tensors, element types of 8, 4 and 2 bits",
        "all", "ai.onnx.ml and preview operators, ImageDecoder and TfIdfVectorizer neither; the "
        "error names what is missing"),
    Gap("argument", "mindspore.load: compressed parameters, hash tables, SM4-CBC, big-endian; "
        "primitives of detection, Fourier transforms and decompositions",
        "all", "Lite and Ascend write the first two; the error says which is there"),
    Gap("module", "mindspore_serving.server.distributed; workers of other machines", "all",
        "models that are split over devices, start_master_server and start_servable: workers are "
        "processes of the server's machine; start a server on each, behind a balancer"),
    Gap("argument", "mindspore_serving: declare_model(config_file), OM and MindIR_Opt files, "
        "precision_mode='fp16', stages in C++", "all",
        "raise; they are Ascend's"),
    Gap("feature", "mindtorch serve --ray: gRPC, TLS, the log of requests", "all",
        "Ray Serve's proxies carry REST; they have settings of their own for the others, and the "
        "options are refused (docs/serving.md)"),
    Gap("module", "mindspore.nn.probability, boost beyond GradientAccumulation, nn's thor cells",
        "all", "torch.distributions is there"),
    Gap("argument", "torch.cuda.amp.GradScaler() without CUDA", "all",
        "warns and is off, as in PyTorch, until it scales a loss inside of a function that "
        "value_and_grad differentiates (MindTorch's style); torch.amp.GradScaler('cpu') scales, "
        "in both styles"),
    Gap("argument", "torch.distributed.new_group(pg_options, device_id, use_local_synchronization)",
        "all", "raise"),
    Gap("argument", "mindspore.ops.matrix_diag(k, align, ...), matrix_diag_part, matrix_set_diag",
        "all", "the main diagonal only: TypeError for more arguments"),
    Gap("function", "mindspore.ops.ctc_loss: the second result", "all",
        "None, where MindSpore gives logarithms of the paths for its gradient kernel"),
    Gap("argument", "mindspore.dataset.CocoDataset, VOCDataset (extra_metadata, decrypt)", "all",
        "raise. TedliumDataset gives the samples of its files, MindSpore 2.10 zeros; "
        "FakeImageDataset and RandomDataset draw other numbers"),
    Gap("module", "mindspore.dataset.vision: videos", "all",
        "DecodeVideo, VideoDecoder, read_video, read_video_timestamps: nothing here decodes "
        "videos; a GeneratorDataset over PyAV's frames takes their place"),
    Gap("module", "mindspore.dataset.text: CharNGram, FilterWikipediaXML", "all",
        "not written; PythonTokenizer takes a function. BasicTokenizer(lower_case=True) gives the "
        "text before an unused token once, MindSpore 2.10 twice; JiebaTokenizer's offsets of an "
        "empty text are 0, MindSpore's empty"),
    Gap("module", "mindspore.dataset.audio: Vad", "all",
        "not written: MindSpore 2.10 keeps the last second where nothing triggers, torchaudio "
        "nothing. GriffinLim's momentum is torchaudio's step, not MindSpore's; InverseMelScale "
        "solves by least squares, where MindSpore descends"),
    Gap("argument", "mindspore.dataset: map(callbacks, column_order, offload), sync_wait, "
        "to_json, device_que", "all", "raise: no device queue; project orders columns"),
    Gap("feature", "mindspore.dataset: one batch of a pipeline in several workers", "all",
        "a worker makes whole batches, so a single large batch is made by one of them; "
        "num_parallel_workers of a stage is the largest of its operations"),
    Gap("argument", "mindspore.dataset.vision: cubic turns, Resize of Inter.AREA and PILCUBIC",
        "all", "raise; RandomPerspective finds cubic values linearly; Resize does not smooth "
        "Pillow's pictures; Rotate fills red, green, blue as documented, MindSpore the reverse"),
    Gap("module", "mindspore.dataset.transforms: Plugin", "all",
        "an unknown name is an AttributeError"),
    Gap("feature", "checksums in PyTorch's old format and in others' .ckpt and .safetensors", "all",
        "these files hold none, so a changed byte of an element is not noticed; all that is saved "
        "here by default has one"),
    Gap("argument", "Optimizer groups with grad_centralization, boost_level, save_checkpoint("
        "async_save, enc_key)", "all", "raise; nothing is ignored in silence"),
)  # fmt: skip


def as_markdown() -> str:
    """The table as docs/gaps.md holds it."""
    lines = [
        "# Gaps", "",
        "What is missing and why; made from `mindtorch/known_gaps.py` by "
        "`python -m mindtorch.known_gaps`.",
        "",
        "| kind | what | device | reason |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [f"| {g.kind} | `{g.name}` | {g.device} | {g.reason} |" for g in GAPS]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
