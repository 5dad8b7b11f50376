"""The ops by subject: each file and the ops that it declares, by the names that errors give.

What is known of an op stands at its declaration: ``Op`` (:mod:`mindtorch.engine.op`) says what can
be stated. Families of ops are in ``base``, what index tensors index in ``index_bounds``. Importing
any of them makes CUDA known, which registers itself.

copies               clone _to_device _to_copy
elementwise          add subtract multiply divide negative power power_two power_three
                     power_minus_two power_half power_minus_half power_minus_one square maximum
                     minimum fmax fmin floor_divide trunc_divide remainder fmod hypot atan2 copysign
                     nextafter clamp clamp_min clamp_max lerp addcmul add_scaled subtract_scaled
                     addcdiv sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan
                     asin acos atan sinh cosh asinh acosh atanh deg2rad rad2deg tanh tanh_gradient
                     sigmoid sigmoid_gradient absolute sign sgn complex conj real imag
comparison           eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf
                     isfinite signbit bitwise_and bitwise_or bitwise_xor bitwise_not left_shift
                     right_shift gcd lcm where
rounding             floor ceil round trunc frac
complex              angle view_as_real_copy view_as_complex_copy view_as_real view_as_complex
                     view_dtype
activations          relu threshold_gradient silu silu_gradient gelu gelu_gradient gelu_tanh
                     gelu_tanh_gradient softplus softplus_gradient mish mish_gradient log_sigmoid
                     log_sigmoid_gradient leaky_relu leaky_relu_gradient prelu elu elu_gradient
                     hardtanh hardtanh_gradient hardsigmoid hardsigmoid_gradient hardswish
                     hardswish_gradient shrink_gradient hardshrink softshrink threshold
                     fake_quantize fake_quantize_gradient
elementwise_special  erf erfc erfinv lgamma digamma trigamma zeta i0 i1 i0e i1e erfcx ndtr log_ndtr
                     ndtri entr igamma igammac frexp_mantissa frexp_exponent airy_ai bessel_j0
                     bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1
                     modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
                     scaled_modified_bessel_k1 spherical_bessel_j0 chebyshev_t chebyshev_u
                     chebyshev_v chebyshev_w shifted_chebyshev_t shifted_chebyshev_u
                     shifted_chebyshev_v shifted_chebyshev_w hermite_h hermite_he laguerre_l
                     legendre_p sinc xlogy xlog1py binary_cross_entropy logit logaddexp logaddexp2
                     heaviside nan_to_num
reduction            sum mean amax amin prod any all argmax argmin max_dim min_dim median_dim
                     nanmedian_dim mode var std linalg_vector_norm logsumexp xor_sum
scan                 cumsum cumprod cumprod_gradient logcumsumexp cummax cummin
softmax              softmax softmax_gradient log_softmax log_softmax_gradient
sorting              sort topk kthvalue searchsorted
movement             permute expand view unsqueeze squeeze slice select diagonal as_strided unfold
                     alias split split_with_sizes unbind slice_backward as_strided_backward
                     view_update copy_ cat stack flip roll constant_pad_nd
indexing             index index_put gather scatter scatter_add scatter_reduce index_select
                     index_add index_copy index_fill masked_fill masked_scatter
                     masked_scatter_backward take put tril triu diag_embed
linear_algebra       matmul linear _euclidean_dist linalg_inv_ex cofactors linalg_det linalg_slogdet
                     linalg_solve_ex linalg_solve_triangular linalg_cholesky_ex cholesky_solve
                     linalg_pinv linalg_lstsq
factorizations       linalg_lu_factor_ex lu_permutation linalg_ldl_factor_ex linalg_ldl_solve
                     linalg_qr geqrf linalg_householder_product linalg_eigh linalg_eig linalg_svd
fft                  _fft_c2c _fft_r2c _fft_c2r
convolution          channel_sum convolution convolution_input_gradient convolution_weight_gradient
pooling              max_pool max_pool_gradient avg_pool avg_pool_gradient adaptive_avg_pool
                     adaptive_avg_pool_gradient adaptive_max_pool
resizing             resize resize_gradient
sampling             grid_sample grid_spread grid_slopes
normalization        native_batch_norm native_batch_norm_backward batch_norm_inference move_average
                     native_layer_norm native_layer_norm_backward native_group_norm
                     native_group_norm_backward rms_norm rms_norm_backward
loss                 nll_loss_forward nll_loss_backward cross_entropy_loss
                     cross_entropy_loss_backward smooth_l1_loss smooth_l1_loss_backward huber_loss
                     huber_loss_backward
ctc                  ctc_loss ctc_loss_backward
embedding            embedding embedding_sparse embedding_dense_backward embedding_bag
                     embedding_bag_sparse embedding_bag_dense_backward
                     embedding_bag_per_sample_weights_backward embedding_bag_max_indices
attention            scaled_dot_product_attention scaled_dot_product_attention_backward
recurrent            lstm lstm_backward gru gru_backward rnn rnn_backward
detection            nms roi_align roi_align_backward roi_pool roi_pool_backward ps_roi_align
                     ps_roi_align_backward ps_roi_pool ps_roi_pool_backward deform_conv2d
                     deform_conv2d_backward box_iou_rotated
histogram            histogram
sparse_indices       merge_keys
quantization         quantize_levels quantized_linear dynamic_quantized_linear quantized_convolution
"""

from ..devices import cuda as cuda
